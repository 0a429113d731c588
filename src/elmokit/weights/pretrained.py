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

Basis = Literal["similarity", "features"]
"""What vectors are for: to be compared by cosine, or to be the input of a model that learns.

Two tokens of one sentence share what the sentence is about. In cosines, this has to weigh much, or
grammar hides what a word means; in the input of a task model it has to weigh little, or it hides
which token is which. So one model may need two bases, which contain the same information.
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
    feature_basis: Tensor | None = None
    """(P, P), by which states are multiplied in the basis "features"; None: both are the same."""
    output_words: OutputWords | None = None
    """Softmax and vocabulary, where the files have them: what predict and finetune need."""
    card: dict[str, str] = field(default_factory=dict)
    """Licence, language, corpus: whatever the files say."""
    unread_softmax: ModelFiles | None = None
    """The files of the model, if their softmax was not read; see ``weights.load.read_softmax``."""

    def set_basis(self, basis: Basis) -> None:
        """Set what the vectors are for; nothing changes in a model without a ``feature_basis``."""
        if basis not in get_args(Basis):
            raise InputError(f"basis must be similarity or features, got {basis!r}")
        self.bilm.output_basis = self.feature_basis if basis == "features" else None

    @property
    def config(self) -> ModelConfig:
        """The shape of the biLM."""
        return self.bilm.config
