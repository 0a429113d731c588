"""What every reader returns: a biLM with all that is needed to use it."""

from dataclasses import dataclass, field

from elmokit.config import ModelConfig
from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.softmax import OutputWords
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.names import ModelFiles


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
    output_words: OutputWords | None = None
    """Softmax and vocabulary, where the files have them: what predict and finetune need."""
    card: dict[str, str] = field(default_factory=dict)
    """Licence, language, corpus: whatever the files say."""
    unread_softmax: ModelFiles | None = None
    """The files of the model, if their softmax was not read; see ``weights.load.read_softmax``."""

    @property
    def config(self) -> ModelConfig:
        """The shape of the biLM."""
        return self.bilm.config
