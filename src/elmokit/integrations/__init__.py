"""Integrations with other libraries: one thin file per library, imported only when needed.

Each needs its own extra: ``pip install 'elmokit[spacy]'``, ``'elmokit[sklearn]'`` and so on.
"""
