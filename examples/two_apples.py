"""One word, two meanings: the vectors of "apple" follow the sentence around it.

python examples/two_apples.py [MODEL]
"""

import sys

import numpy as np

import elmokit

SENTENCES = [
    "I would like to eat an apple .",
    "She peeled an apple and a pear for lunch .",
    "The new phone from apple sold well .",
]

elmo = elmokit.load(sys.argv[1] if len(sys.argv) > 1 else None)
layers = elmo.layers([sentence.split() for sentence in SENTENCES])
apples = [
    array[:, sentence.split().index("apple")]  # (L + 1, D)
    for array, sentence in zip(layers, SENTENCES, strict=True)
]
for number in range(elmo.num_layers):
    fruit, again, company = (apple[number] / np.linalg.norm(apple[number]) for apple in apples)
    print(f"layer {number}: fruit to fruit {fruit @ again:.3f}, to company {fruit @ company:.3f}")
