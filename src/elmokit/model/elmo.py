"""ELMo as a PyTorch module: one biLM run, and one scalar mix for each place of use in a task."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from elmokit.model.bilm import BiLm
from elmokit.model.scalar_mix import ScalarMix
from elmokit.text.token_ids import TokenIds, TokenIndexer


class TokenBatch(NamedTuple):
    """Sentences as tensors: the distinct tokens once, and where each stands."""

    ids: TokenIds  # of N distinct tokens; 0 and 1 are the sentence markers
    rows: Tensor  # (B, T): the distinct token at each place
    lengths: Tensor  # (B,)

    def to(self, device: torch.device) -> "TokenBatch":
        moved = (None if part is None else part.to(device) for part in self.ids)
        return TokenBatch(TokenIds(*moved), self.rows.to(device), self.lengths.to(device))


def batch_tokens(sentences: Sequence[Sequence[str]], indexer: TokenIndexer) -> TokenBatch:
    """Lists of tokens -> the tensors ``Elmo`` reads.

    >>> batch_tokens([["a", "rose", "is", "a", "rose"]], TokenIndexer.utf8()).rows.tolist()
    [[2, 3, 4, 2, 3]]
    """
    rows: dict[str, int] = {indexer.begin: 0, indexer.end: 1}
    lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.long)
    places = torch.zeros(len(sentences), max(map(len, sentences), default=0), dtype=torch.long)
    for number, sentence in enumerate(sentences):
        if sentence:
            found = [rows.setdefault(token, len(rows)) for token in sentence]
            places[number, : len(found)] = torch.tensor(found)
    return TokenBatch(indexer.encode(list(rows)), places, lengths)


class Elmo(nn.Module):
    """Frozen biLM, learned mixes: ``num_mixes`` vectors (B, T, D) for every batch of sentences.

    >>> elmo = Elmo(bilm, num_mixes=2, dropout=0.5)               # doctest: +SKIP
    >>> at_input, at_output = elmo(batch_tokens(sentences, indexer))  # doctest: +SKIP
    >>> loss = task_loss + 0.001 * elmo.penalty()                  # doctest: +SKIP

    ``trainable=True`` lets the task's gradient into the biLM. Saved with its task model's
    ``state_dict``. Under ``torch.compile`` the biLM runs eagerly, the mixes are compiled.
    Copies and replicas work, and so does ``DistributedDataParallel``; ``nn.DataParallel`` does
    not, because it would cut a batch's table of distinct tokens into pieces: use
    ``elmokit.compat.allennlp.Elmo``, whose batches of character ids can be cut.
    """

    def __init__(
        self,
        bilm: BiLm,
        *,
        num_mixes: int = 1,
        dropout: float = 0.5,
        layer_norm: bool = False,
        trainable: bool = False,
        initial_weights: Sequence[float] | None = None,
        trainable_mix: bool = True,
    ) -> None:
        super().__init__()
        self.bilm = bilm.requires_grad_(trainable)
        self.dropout = nn.Dropout(dropout)
        self.mixes = nn.ModuleList(
            ScalarMix(
                bilm.num_layers,
                layer_norm=layer_norm,
                initial_weights=initial_weights,
                trainable=trainable_mix,
            )
            for _ in range(num_mixes)
        )

    def forward(self, batch: TokenBatch) -> list[Tensor]:
        """One (B, T, D) a mix, zero beyond each sentence's length."""
        return self.mix(self.layers(batch))

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def layers(self, batch: TokenBatch) -> Tensor:
        """(B, L + 1, T, D): what a cache may keep while the biLM is frozen."""
        table = self.bilm.encoder(batch.ids)
        output = self.bilm(table, batch.rows, batch.lengths.tolist())
        layers: Tensor = output.layers
        return layers

    def mix(self, layers: Tensor) -> list[Tensor]:
        """The mixes of layers computed earlier."""
        return [self.dropout(mix(layers)) for mix in self.mixes]

    def penalty(self) -> Tensor:
        """Sum over the mixes of ||raw weights||^2, for the task to scale and add to its loss."""
        penalties = [mix.penalty() for mix in self.mixes if isinstance(mix, ScalarMix)]
        return torch.stack(penalties).sum()
