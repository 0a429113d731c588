"""Static vectors of a text's words for gensim: what `elmokit static` writes.

python examples/static_vectors.py TEXT OUT.bin [MODEL]
"""

import sys
from pathlib import Path

from gensim.models import KeyedVectors

from elmokit.integrations.word2vec import StaticOptions, run_static

text, out = sys.argv[1:3]
model = sys.argv[3] if len(sys.argv) > 3 else "en-small"
print(run_static(model, [text], Path(out), StaticOptions(min_count=2, lowercase=True)))
vectors = KeyedVectors.load_word2vec_format(out, binary=True)
word = vectors.index_to_key[0]
print(word, [other for other, _ in vectors.most_similar(word, topn=3)])
