"""ELMo inside a model of your own: frozen biLM, learned mixes at the input and at the output.

python examples/task_model.py [MODEL]

A tagger learns to mark capitalised words in a handful of sentences; watch the mix weights move.
"""

import sys

import torch
from torch import Tensor, nn

from elmokit import Elmo

SENTENCES = [
    ["Olivia", "went", "to", "Paris", "."],
    ["the", "train", "left", "Rome", "late"],
    ["nobody", "saw", "Peter"],
]


class Tagger(nn.Module):
    """A GRU between [ELMo] below and [GRU; ELMo] above, as the paper adds it to its baselines."""

    def __init__(self, elmo: Elmo, dim: int, num_tags: int) -> None:
        super().__init__()
        self.elmo = elmo
        self.gru = nn.GRU(dim, 20, batch_first=True, bidirectional=True)
        self.out = nn.Linear(40 + dim, num_tags)

    def forward(self, batch: object) -> Tensor:
        at_input, at_output = self.elmo(batch)  # each (B, T, D)
        hidden, _ = self.gru(at_input)
        return self.out(torch.cat([hidden, at_output], dim=-1))  # (B, T, tags)


torch.manual_seed(0)
elmo = Elmo(sys.argv[1] if len(sys.argv) > 1 else "en-small", num_mixes=2, dropout=0.1)
model = Tagger(elmo, elmo.bilm.config.vector_dim, num_tags=2)
batch = elmo.batch(SENTENCES)
tags = torch.full(batch.rows.shape, -100)  # what cross_entropy ignores: padding
for row, sentence in enumerate(SENTENCES):
    tags[row, : len(sentence)] = torch.tensor([int(token[0].isupper()) for token in sentence])

optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=0.01)
for step in range(31):
    logits = model(batch)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tags.flatten())
    (loss + 0.001 * model.elmo.penalty()).backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        weights = [f"{weight:.2f}" for weight in model.elmo.mixes[0].weights.tolist()]
        print(f"step {step:2d}: loss {loss.item():.3f}, input mix {' '.join(weights)}")
