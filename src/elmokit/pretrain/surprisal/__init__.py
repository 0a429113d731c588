"""How predictable each word of a text is: the biLM as a language model for psycholinguistics.

contexts.py      the states from which each direction predicts a word
statistics.py    the full softmax at many positions: bits, entropy, rank
measure.py       ``surprisal``: sentences or documents in, arrays out
words.py         joins the tokens of words that the tokeniser splits
frequencies.py   how often a word occurs in a reference corpus
to_file.py       ``elmokit surprisal``: text in, a table out
"""
