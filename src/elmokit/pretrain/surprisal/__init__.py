"""How expected each word of a text is: the biLM as a psycholinguist's language model.

contexts.py      what each direction knows of a place before it reads the word there
statistics.py    the full softmax at many places: bits, entropy, rank
measure.py       ``surprisal``: sentences or documents in, arrays out
words.py         words that the tokeniser splits, put together again
frequencies.py   how often a word occurs in a reference corpus
to_file.py       ``elmokit surprisal``: text in, a table out
"""
