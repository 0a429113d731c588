"""The senses of a word, induced from its occurrences.

induce.py       ``elmokit senses``: occurrences -> clusters -> substitutes and examples of each
clusters.py     k-means, and how many clusters there are
agreement.py    two clusterings compared: adjusted Rand index, V-measure
semcor.py       how well induced senses agree with those of SemCor
synonyms.py     how often substitutes are synonyms of a word's sense in SemCor
"""
