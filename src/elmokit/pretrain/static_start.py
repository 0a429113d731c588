"""A head start from static vectors (GloVe and the like): what words mean, before any context.

The softmax rows of the words that have a vector begin with it, and the token encoder is fitted to
give it for the word's characters. Both see the vectors turned into the biLM's width by the same
random rotation, so that no coordinate is favoured.
"""

import numpy as np
import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.softmax import Softmax
from elmokit.pretrain.corpus import Corpus
from elmokit.progress import meter
from elmokit.text.characters import Utf8Characters
from elmokit.text.static_vectors import StaticVectors
from elmokit.text.token_ids import TokenIds

WORDS_A_STEP = 256
RATE = 0.003
TOKEN_SIZE = 0.3
"""Root mean square of the values that the encoder is fitted to."""


def begin_with_vectors(
    bilm: BiLm, softmax: Softmax, corpus: Corpus, vectors: StaticVectors, num_steps: int
) -> int:
    """Put ``vectors`` into softmax and encoder; how many words of the vocabulary had one."""
    rows = [vectors.row(word) for word in corpus.vocabulary.words]
    known = torch.tensor([number for number, row in enumerate(rows) if row is not None])
    if len(known) == 0:
        raise InputError(f"{vectors.source}: has no vector for any word of {corpus.path}")
    chosen = torch.from_numpy(vectors.vectors[[row for row in rows if row is not None]])
    turned = _standardised(chosen) @ _rotation(vectors.dim, softmax.weight.shape[1])  # (K, P)
    with torch.no_grad():
        softmax.weight[known] = turned / turned.norm(dim=1).mean()
    goals = turned * (TOKEN_SIZE / turned.pow(2).mean().sqrt())
    _fit_encoder(bilm, corpus, known, goals, num_steps)
    return len(known)


def _standardised(vectors: Tensor) -> Tensor:
    centred = vectors - vectors.mean(dim=0)
    return centred / centred.std()


def _rotation(width_from: int, width_to: int) -> Tensor:
    """(from, to): orthonormal rows, or columns where it narrows. Draws from torch's generator."""
    tall = torch.randn(max(width_from, width_to), min(width_from, width_to))
    orthonormal: Tensor = torch.linalg.qr(tall).Q
    return orthonormal if width_from > width_to else orthonormal.t()


def _fit_encoder(bilm: BiLm, corpus: Corpus, known: Tensor, goals: Tensor, num_steps: int) -> None:
    """Least squares over words drawn by the root of their count, the rate falling to zero."""
    cnn = bilm.config.char_cnn
    if cnn is None or bilm.config.words is not None:
        raise InputError("train.vectors: only an encoder of characters alone can be fitted to them")
    characters = Utf8Characters(cnn.max_characters)
    ids = torch.from_numpy(corpus.lexicon.characters(known.numpy(), characters))
    often = torch.from_numpy(np.sqrt(np.maximum(corpus.lexicon.counts[known.numpy()], 1.0)))
    optimizer = torch.optim.Adam(bilm.encoder.parameters(), lr=RATE)
    with meter("fitting the characters to the vectors", "steps", num_steps) as steps:
        for step in range(num_steps):
            optimizer.param_groups[0]["lr"] = RATE * (1 - step / num_steps)
            drawn = torch.multinomial(often, WORDS_A_STEP, replacement=True)
            found = bilm.encoder(TokenIds(ids[drawn], None))
            loss = (found - goals[drawn]).pow(2).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            steps.advance(1, f"{1 - loss.item() / TOKEN_SIZE**2:.0%} of the variance")
    optimizer.zero_grad(set_to_none=True)
