"""What every reader returns: a biLM with all that is needed to use it."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from torch import Tensor

from elmokit.config import ModelConfig
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.softmax import OutputWords
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.names import ModelFiles

Basis = Literal["similarity", "features", "states"]
"""What vectors are for: to be compared by cosine, or to be the input of a model that learns; or the
states of the LSTMs as they are.

Two tokens of one sentence share what the sentence is about. In cosines, this has to weigh much, or
grammar hides what a word means; in the input of a task model it has to weigh little, or it hides
which token is which. So one model may need two bases, which contain the same information: each
layer's [forward state; backward state], times a matrix.
"""


@dataclass
class PretrainedModel:
    """A biLM with all that is needed to use it, as every reader of ``weights/`` returns it."""

    bilm: BiLm
    indexer: TokenIndexer
    format: str
    """native, bilm-tf, manylangs, tf-checkpoint, tf-hub, allennlp."""
    source: str
    """Where it was read from, for messages."""
    settled: BiLmState | None = None
    """A fixed warm start (one row), for models that rarely started from zeros in training."""
    bases: dict[Basis, Tensor] = field(default_factory=dict)
    """(L, D, D) each, by which layers 1 to L are multiplied for "similarity" and "features"; where
    one is missing, the vectors are the states."""
    output_words: OutputWords | None = None
    """Softmax and vocabulary, where the files have them: what predict and finetune need."""
    card: dict[str, str] = field(default_factory=dict)
    """Licence, language, corpus: whatever the files say."""
    unread_softmax: ModelFiles | None = None
    """The files of the model, if their softmax was not read; see ``weights.load.read_softmax``."""

    def set_basis(self, basis: Basis) -> None:
        """Set what the vectors are for; nothing changes in a model without ``bases``."""
        if basis not in get_args(Basis):
            raise InputError(f"basis must be similarity, features or states, got {basis!r}")
        self.bilm.output_basis = self.bases.get(basis)

    @property
    def config(self) -> ModelConfig:
        """The shape of the biLM."""
        return self.bilm.config
