"""A MODEL -> AN HTTP SERVER (``elmokit serve``; extra ``serve``).

request -> gate -> texts -> batcher (one model thread) -> answers -> response
"""
