"""How much the use of a word differs between two corpora: lexical semantic change.

measures.py      APD, PRT, their mean, JSD over joint clusters; permutations, bootstrap, floor
compare.py       ``word_change``: two corpora in, one row per word out
frequency.py     scores compared with word frequency, and corrected for it
output.py        a folder: tables, SemEval's format, DURel's, a page for each word
pseudo_change.py how well the measures find change of a known degree
procrustes.py    the classical baseline: aligned static vectors
"""
