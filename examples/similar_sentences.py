"""Sentence vectors for search: the lines of a text that are most similar to a query.

python examples/similar_sentences.py [TEXT QUERY [MODEL]]

TEXT has one sentence per line. Without arguments, a few built-in sentences are searched.
"""

import sys

import numpy as np

import elmokit

SENTENCES = [
    "The river rose after three days of rain.",
    "Heavy showers flooded the valley.",
    "The central bank raised interest rates again.",
    "Investors expect higher rates this year.",
    "She scored twice in the second half.",
    "The home team won by two goals.",
]
QUERY = "Interest rates went up."

if len(sys.argv) == 2:
    sys.exit(__doc__)
sentences, query = SENTENCES, QUERY
if len(sys.argv) > 2:
    with open(sys.argv[1], encoding="utf-8") as lines:
        sentences = [line.strip() for line in lines if line.strip()]
    query = sys.argv[2]

elmo = elmokit.load(sys.argv[3] if len(sys.argv) > 3 else "en-small")
vectors = elmo.pool(sentences, how="mean")  # (N, D)
centre = vectors.mean(axis=0)  # what all sentences share does not tell them apart
vectors = vectors - centre
wanted = elmo.pool([query], how="mean")[0] - centre
scores = vectors @ wanted / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(wanted) + 1e-9)
for number in np.argsort(-scores)[:5]:
    print(f"{scores[number]:.3f}  {sentences[number]}")
