"""elmokit inside other people's pipelines: one thin file per library, imported only when asked for.

Each needs its own extra: ``pip install 'elmokit[spacy]'``, ``'elmokit[sklearn]'`` and so on.
"""
