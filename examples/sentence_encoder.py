"""A sentence-transformers encoder: ELMo, then a trained head.

python examples/sentence_encoder.py [MODEL]
"""

import sys

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense

from elmokit.integrations.sentence_transformers import ElmoModule

torch.manual_seed(0)
elmo = ElmoModule(sys.argv[1] if len(sys.argv) > 1 else "en-small")
encoder = SentenceTransformer(
    modules=[elmo, Dense(elmo.get_embedding_dimension(), 16)], device="cpu"
)
optimizer = torch.optim.Adam((p for p in encoder.parameters() if p.requires_grad), lr=0.01)
for _ in range(20):
    film, movie, stone = encoder(encoder.preprocess(["a film", "a movie", "a stone"]))[
        "sentence_embedding"
    ]
    loss = torch.nn.functional.triplet_margin_loss(film[None], movie[None], stone[None])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
vectors = encoder.encode(["a film", "a movie", "a stone"])
print("film-movie, film-stone:", encoder.similarity(vectors[:1], vectors[1:])[0].tolist())
