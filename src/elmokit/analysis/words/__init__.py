"""Single words in context.

occurrences.py   one word in a sentence: finding it, and its vectors
compare.py       how alike occurrences of a word are, layer by layer
demo.py          two words of two senses each
index.py         an index of every token of a text; neighbours.py: Table 4
sense_map.py     all occurrences of a word, drawn in a plane
sample.py        occurrences of many words in a text of any size
substitutes_table.py   substitutes of a word as a table
wug.py           occurrences as DURel and WUG store them
texts.py         files as sentences of tokens
"""
