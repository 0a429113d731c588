"""The data of the explorer's page (``serve/page``): what words mean in context.

exploration.py   the document: dataclasses that become JSON
corpus.py        the text to explore: files, an index, SemCor, or built-in sentences
occurrences.py   occurrences of a word: sampled, projected, labelled
projection.py    planes of all layers, aligned
expectations.py  what the model expects at each position of a sentence
neighbours.py    nearest tokens in context, beside static neighbours
sides.py         two models, or two corpora
explorer.py      ``Explorer``: puts an exploration together
"""
