"""What a frozen layer knows.

part_of_speech.py      Table 6, by a linear classifier (linear_probe.py)
senses.py              Table 5, by the nearest mean vector of a sense
sense_separation.py    a development measure: whether same-sense occurrences are nearer
sense_data.py          SemCor and the evaluation sets; wordnet.py: their senses
mcnemar.py             McNemar's test of two layers on the same items
"""
