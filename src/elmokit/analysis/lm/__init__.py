"""Language models compared by perplexity.

perplexities.py    biLMs beside an n-gram, on the same words
kneser_ney.py      the n-gram: interpolated modified Kneser-Ney
surprisal_picture.py   the surprisal of a sentence, drawn
"""
