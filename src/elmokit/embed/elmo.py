"""ELMo as a PyTorch module: one biLM run, and one scalar mix for each place of use in a task."""

from collections.abc import Iterable, Sequence

from torch import Tensor, nn

from elmokit.embed.embedder import Embedder
from elmokit.embed.sentences import Sentence, all_tokens
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm, runs_eagerly
from elmokit.model.kernels.lstm_inference import PrecisionName, usable_precision
from elmokit.model.packing import TokenBatch, batch_tokens
from elmokit.model.scalar_mix import ScalarMix, total_penalty
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.load import load_pretrained
from elmokit.weights.names import ModelName
from elmokit.weights.pretrained import Basis


class Elmo(nn.Module):
    """A frozen biLM with learned mixes: ``num_mixes`` tensors (B, T, D) per batch of sentences.

    >>> elmo = Elmo("en-small", num_mixes=2, dropout=0.5)
    >>> at_input, at_output = elmo(elmo.batch([["I", "like", "apples", "."], ["Yes"]]))
    >>> at_input.shape
    torch.Size([2, 4, 512])

    The task adds ``0.001 * elmo.penalty()`` to its loss.

    Args:
        model: a model's name or path, an ``Embedder``, or a ``BiLm``.
        num_mixes: how many vectors to make, one for each place of use in the task model.
        dropout: dropout probability of these vectors.
        layer_norm: normalise each layer before it is weighted.
        trainable: also train the biLM.
        initial_weights: initial weights of the mixes, before the softmax; default: all equal.
        trainable_mix: False freezes the weights and gamma.
        precision: precision of the frozen biLM, as in ``elmokit.load``; default: float32, or the
            Embedder's.
        basis: what the vectors are for, as in ``elmokit.load``; default: features, or the
            Embedder's. A ``BiLm`` keeps its own.

    It is saved with the ``state_dict`` of the task model. Under ``torch.compile`` the biLM runs
    eagerly and the mixes are compiled; under ``torch.autocast`` the biLM keeps its own precision.
    Copies, replicas and ``DistributedDataParallel`` work. ``nn.DataParallel`` does not, because it
    would split a batch's table of distinct tokens; use ``elmokit.compat.allennlp.Elmo`` instead,
    whose batches of character ids can be split.
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
        basis: Basis | None = None,
    ) -> None:
        super().__init__()
        if num_mixes < 1:
            raise InputError(f"num_mixes must be at least 1, got {num_mixes}")
        bilm, self.indexer = _bilm_and_indexer(model, basis)
        if precision is not None:
            if isinstance(model, Embedder):
                raise InputError(
                    f"this Embedder has precision {model.precision!r}; pass precision to "
                    f"elmokit.load, or pass Elmo the model's name"
                )
            bilm.set_precision(usable_precision(precision, bilm.device))
        if trainable and bilm.precision != "float32":
            raise InputError(
                f"a trainable biLM needs float32 weights, got precision {bilm.precision!r}; leave "
                f"out precision or trainable"
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
        """Turn strings or lists of tokens into the input of ``forward``, on the biLM's device."""
        return batch_tokens(list(all_tokens(sentences)), self.indexer).to(self.bilm.device)

    def forward(self, batch: TokenBatch) -> list[Tensor]:
        """Return one (B, T, D) per mix, zero beyond each sentence's length."""
        return self.mix(self.layers(batch))

    @runs_eagerly
    def layers(self, batch: TokenBatch) -> Tensor:
        """Return all layers (B, L + 1, T, D), which can be cached while the biLM is frozen."""
        if not isinstance(batch, TokenBatch):
            raise InputError(
                f"Elmo takes a TokenBatch, got a {type(batch).__name__}; make one with "
                f"elmo.batch(sentences)"
            )
        table = self.bilm.encoder(batch.ids)
        return self.bilm.layers(table, batch.rows, batch.lengths.tolist())

    def mix(self, layers: Tensor) -> list[Tensor]:
        """Return the mixes of layers that were computed earlier."""
        return [mix(layers) for mix in self.mixes]

    def penalty(self) -> Tensor:
        """Return the sum of ||raw weights||^2 over the mixes, to be added to the loss."""
        return total_penalty(mix for mix in self.mixes if isinstance(mix, ScalarMix))


def _bilm_and_indexer(
    model: BiLm | Embedder | ModelName, basis: Basis | None
) -> tuple[BiLm, TokenIndexer]:
    if basis is not None and isinstance(model, Embedder | BiLm):
        raise InputError(
            "a model in memory has its basis; pass basis to elmokit.load, or pass Elmo the model's "
            "name"
        )
    if isinstance(model, Embedder):
        return model.bilm, model.indexer
    if isinstance(model, BiLm):
        cnn = model.config.char_cnn
        return model, TokenIndexer.utf8(cnn.max_characters) if cnn else TokenIndexer()
    pretrained = load_pretrained(model, need_softmax=False)
    pretrained.set_basis(basis or "features")
    return pretrained.bilm, pretrained.indexer
