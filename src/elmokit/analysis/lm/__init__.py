"""Language models compared by perplexity.

perplexities.py    biLMs compared with an n-gram model, on the same words
kneser_ney.py      the n-gram: interpolated modified Kneser-Ney
surprisal_picture.py   a plot of a sentence's surprisal
"""
