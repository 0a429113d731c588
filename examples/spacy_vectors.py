"""ELMo vectors in a spaCy pipeline: which of three words is used most alike in two sentences?

python examples/spacy_vectors.py [MODEL]
"""

import sys

import numpy as np
import spacy

nlp = spacy.blank("en")  # where spaCy does not find "elmokit": import elmokit.integrations.spacy
nlp.add_pipe("sentencizer")
nlp.add_pipe("elmokit", config={"model": sys.argv[1] if len(sys.argv) > 1 else "en-small"})
first, second = nlp.pipe(["The bank of the river rose.", "He left. The bank closed at noon."])
for token in second:
    if token.text in ("The", "bank", "."):
        twin = next(other for other in first if other.text == token.text)
        lengths = np.linalg.norm(token._.elmo) * np.linalg.norm(twin._.elmo)
        print(f"{token.text}: {token._.elmo @ twin._.elmo / lengths:.3f}")
