"""ELMo as a PyTorch module: one biLM run, and one scalar mix for each place of use in a task."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from elmokit.embed.embedder import Embedder
from elmokit.embed.sentences import Sentence, all_tokens
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.eager import runs_eagerly
from elmokit.model.kernels.choice import PrecisionName, usable_precision
from elmokit.model.packing import TokenBatch, batch_tokens
from elmokit.model.scalar_mix import ScalarMix
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.load import load_pretrained
from elmokit.weights.names import ModelName


class Elmo(nn.Module):
    """Frozen biLM, learned mixes: ``num_mixes`` vectors (B, T, D) for every batch of sentences.

    >>> elmo = Elmo("en-small", num_mixes=2, dropout=0.5)
    >>> at_input, at_output = elmo(elmo.batch([["I", "like", "apples", "."], ["Yes"]]))
    >>> at_input.shape
    torch.Size([2, 4, 512])

    The task adds ``0.001 * elmo.penalty()`` to its loss.

    Args:
        model: a model's name or path, an ``Embedder``, or a ``BiLm``.
        num_mixes: how many vectors to make, one for each place of use in the task model.
        dropout: of each of these vectors.
        layer_norm: normalise each layer before it is weighted.
        trainable: let the task's gradient into the biLM.
        initial_weights: of the mixes, before their softmax; default: all layers alike.
        trainable_mix: False keeps weights and gamma as they are.
        precision: of the frozen biLM, as in ``elmokit.load``; default: float32, or the Embedder's.

    Saved with its task model's ``state_dict``. Under ``torch.compile`` the biLM runs eagerly and
    the mixes are compiled; under ``torch.autocast`` the biLM keeps its own precision. Copies and
    replicas work, and so does ``DistributedDataParallel``; ``nn.DataParallel`` does not, because
    it would cut a batch's table of distinct tokens into pieces: use
    ``elmokit.compat.allennlp.Elmo``, whose batches of character ids can be cut.
    """

    def __init__(
        self,
        model: BiLm | Embedder | ModelName = None,
        *,
        num_mixes: int = 1,
        dropout: float = 0.5,
        layer_norm: bool = False,
        trainable: bool = False,
        initial_weights: Sequence[float] | None = None,
        trainable_mix: bool = True,
        precision: PrecisionName | None = None,
    ) -> None:
        super().__init__()
        bilm, self.indexer = _bilm_and_indexer(model)
        if precision is not None:
            if isinstance(model, Embedder):
                raise InputError(
                    f"this Embedder has precision {model.precision!r}; give precision to "
                    f"elmokit.load, or give Elmo the model's name"
                )
            bilm.set_precision(usable_precision(precision, bilm.device))
        if trainable and bilm.precision != "float32":
            raise InputError(
                f"a trainable biLM has float32 weights, got precision {bilm.precision!r}; leave "
                f"precision out, or trainable"
            )
        self.bilm = bilm.requires_grad_(trainable)
        self.mixes = nn.ModuleList(
            ScalarMix(
                bilm.num_layers,
                layer_norm=layer_norm,
                dropout=dropout,
                initial_weights=initial_weights,
                trainable=trainable_mix,
            )
            for _ in range(num_mixes)
        )

    def batch(self, sentences: Iterable[Sentence]) -> TokenBatch:
        """Strings or lists of tokens -> the tensors that ``forward`` reads, where the biLM is."""
        return batch_tokens(list(all_tokens(sentences)), self.indexer).to(self.bilm.device)

    def forward(self, batch: TokenBatch) -> list[Tensor]:
        """One (B, T, D) per mix, zero beyond each sentence's length."""
        return self.mix(self.layers(batch))

    @runs_eagerly
    def layers(self, batch: TokenBatch) -> Tensor:
        """(B, L + 1, T, D): what a cache may keep while the biLM is frozen."""
        table = self.bilm.encoder(batch.ids)
        return self.bilm.layers(table, batch.rows, batch.lengths.tolist())

    def mix(self, layers: Tensor) -> list[Tensor]:
        """The mixes of layers computed earlier."""
        return [mix(layers) for mix in self.mixes]

    def penalty(self) -> Tensor:
        """Sum over the mixes of ||raw weights||^2, for the task to scale and add to its loss."""
        penalties = [mix.penalty() for mix in self.mixes if isinstance(mix, ScalarMix)]
        return torch.stack(penalties).sum()


def _bilm_and_indexer(model: BiLm | Embedder | ModelName) -> tuple[BiLm, TokenIndexer]:
    if isinstance(model, Embedder):
        return model.bilm, model.indexer
    if isinstance(model, BiLm):
        cnn = model.config.char_cnn
        return model, TokenIndexer.utf8(cnn.max_characters) if cnn else TokenIndexer()
    pretrained = load_pretrained(model, need_softmax=False)
    return pretrained.bilm, pretrained.indexer
