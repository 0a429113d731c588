"""spaCy's entity recogniser trained on ELMo vectors: three places and a sentence without one.

python examples/spacy_layer.py [MODEL]
"""

import sys

import spacy
from spacy.training import Example

MODEL = sys.argv[1] if len(sys.argv) > 1 else "en-small"
TEXTS = {"I left Paris.": "Paris", "Rome is old.": "Rome", "We saw Oslo.": "Oslo", "It rose.": ""}

spacy.util.fix_random_seed(0)
nlp = spacy.blank("en")  # where spaCy does not find "elmokit": import elmokit.integrations.spacy
nlp.add_pipe("elmokit", config={"model": MODEL})
layer = {"@architectures": "elmokit.Tok2Vec.v1", "width": 96, "model": MODEL}
nlp.add_pipe("ner", config={"model": {"tok2vec": layer}})
examples = []
for text, place in TEXTS.items():
    start = text.index(place)
    entities = [(start, start + len(place), "PLACE")] if place else []
    examples.append(Example.from_dict(nlp.make_doc(text), {"entities": entities}))
nlp.initialize(lambda: examples)
for _ in range(30):
    nlp.update(examples, annotates=["elmokit"])
for doc in nlp.pipe([*TEXTS, "They went to London."]):
    print(doc.text, [entity.text for entity in doc.ents])
