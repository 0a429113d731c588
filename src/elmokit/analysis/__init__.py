"""What the layers hold: the analyses of the paper, and tools to look at single words.

encoders/      sentences in, all layers of each token out
words/         single words in context: compare, index, neighbours, maps
probes/        what a frozen layer knows: part of speech, word senses
sense_induction/   the senses of a word, found in its occurrences
semantic_change/   how much a word's use differs between two corpora
lm/            perplexity, compared with an n-gram model
experiments/   tables and figures that train task models
output/        results as tables, pictures and files
report/        all of it on one page
paper.py       the paper's numbers, shown beside ours
"""
