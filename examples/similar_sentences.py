"""Sentence vectors for search: stream a text of any size, keep one vector a line.

python examples/similar_sentences.py TEXT QUERY [MODEL]
"""

import sys

import numpy as np

import elmokit

text, query = sys.argv[1:3]
elmo = elmokit.load(sys.argv[3] if len(sys.argv) > 3 else None)
with open(text, encoding="utf-8") as lines:
    sentences = [line.strip() for line in lines if line.strip()]
vectors = elmo.pool(sentences, how="mean")  # (N, D); padding never counts
centre = vectors.mean(axis=0)  # what all sentences share says nothing about any of them
vectors = vectors - centre
wanted = elmo.pool([query], how="mean")[0] - centre
scores = vectors @ wanted / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(wanted) + 1e-9)
for number in np.argsort(-scores)[:5]:
    print(f"{scores[number]:.3f}  {sentences[number]}")
