"""What a task is: one record of functions, filled in by the one file that holds its model.

    TASK = Task(name="ner", measure="F1", ...)        at the end of ner.py

``fit.py`` trains any of them, ``run.py`` trains, scores and predicts from files, and ``find_task``
below finds them by name. To write a new one, ``models/NAME.py``, with the settings of its model and
its training in ``recipes/tasks/paper/NAME.toml``:

1. An *example* is a frozen dataclass (or NamedTuple) holding tokens and gold answers as strings
   and spans, never as ids: what a file says, label names included. Gold is optional, so the same
   class carries what is to be predicted.
2. A *prediction* is whatever ``score`` and ``render`` need, again in strings and spans.
3. The model is an ``nn.Module`` with the three members of ``TaskModel``. It owns the
   ``TokenVectors`` it was given (``self.vectors = vectors``), so that the mixes, gamma and tuned
   word vectors are among its parameters. It turns examples into tensors itself, on
   ``self.vectors.device``.
4. Randomness comes from torch's global generator only (the fit loop seeds and saves it).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from rich.text import Text
from torch import Tensor

from elmokit.errors import InputError
from elmokit.tasks.config import TaskConfig, paper_settings
from elmokit.tasks.inputs.token_vectors import TokenVectors

Example = TypeVar("Example")
Example_contra = TypeVar("Example_contra", contravariant=True)
Prediction = TypeVar("Prediction")


class Scores(NamedTuple):
    """In percent, 0 to 100, as the papers print them."""

    main: float
    """What early stopping and the results table look at."""
    every: dict[str, float]
    """All measures by name, the main one included."""


class TaskModel(Protocol[Example_contra, Prediction]):
    """What the fit loop asks of a model (which must also be an ``nn.Module``)."""

    vectors: TokenVectors

    def loss(self, examples: Sequence[Example_contra]) -> Tensor:
        """The mean loss of a batch, a scalar; the mixes' penalty is added by the fit loop.

        ``examples`` is never empty; every label in it was in what ``labels`` returned.
        """
        ...

    def predict(self, examples: Sequence[Example_contra]) -> list[Prediction]:
        """One prediction per example, in order; called in eval mode without gradients."""
        ...


@dataclass(frozen=True)
class Task(Generic[Example, Prediction]):
    """A task, as functions of its examples."""

    name: str
    """On the command line: ner, sentiment, entailment, srl, coref, squad."""
    measure: str
    """What ``Scores.main`` is: F1, accuracy."""
    unit: str
    """What one example is, in the plural, for messages: sentences, pairs, questions."""
    model_config: type[Any]
    """The frozen dataclass of the table ``model``: its sizes and dropouts."""
    read: Callable[[Path], list[Example]]
    """Labelled examples of one file. Raises InputError naming file, line and cure; an empty
    file gives an empty list (the caller says so)."""
    parse: Callable[[Iterable[str], str], Iterator[Example]]
    """``(lines, where)`` of plain text typed by a person -> examples without gold, lazily, for
    ``elmokit task predict``; ``where`` names the source in errors. Where each line is an example,
    a blank line is one without tokens, so that answers keep their place."""
    sentences: Callable[[Example], Sequence[Sequence[str]]]
    """The token sequences whose vectors the model asks for, exactly as it passes them to
    ``TokenVectors.tensors``: they decide what the layer cache prepares and how long an example
    is."""
    labels: Callable[[Sequence[Example]], list[str]]
    """The label set of the training examples, sorted; saved with the model. Empty where a task
    has none."""
    build: Callable[[Any, TokenVectors, list[str]], TaskModel[Example, Prediction]]
    """``(config.model, vectors, labels)`` -> an untrained model."""
    score: Callable[[Sequence[Example], Sequence[Prediction]], Scores]
    """The official measure. A gold label unknown to the model is simply a miss."""
    render: Callable[[Example, Prediction], Text]
    """For people: entities in brackets, coloured on a terminal; readable without colour."""
    to_json: Callable[[Example, Prediction], dict[str, Any]]
    """The same for programs: plain JSON values."""
    no_answer: Prediction
    """What is answered where there is no token, as on a blank line; the model is not asked."""
    expand: Callable[[Any, Sequence[Example]], list[Example]] = lambda _, examples: list(examples)
    """``(config.model, training examples)`` -> what is trained on; sentiment adds the phrases of
    its trees, question answering leaves out what has no answer. Scoring never sees it."""

    def defaults(self) -> TaskConfig:
        """The paper's settings: recipes/tasks/paper/NAME.toml."""
        return paper_settings(self.name, self.model_config)

    def show(self, example: Example, prediction: Prediction) -> Text:
        """``render``; nothing where there is no token."""
        return self.render(example, prediction) if self.num_tokens(example) else Text()

    def num_tokens(self, example: Example) -> int:
        """The longest sequence of an example: what batches are sorted by."""
        return max((len(sentence) for sentence in self.sentences(example)), default=0)


TASKS = ("ner", "sentiment", "entailment", "srl", "coref", "squad")
"""Each is the ``TASK`` of ``models/NAME.py``."""


def find_task(name: str) -> Task[Any, Any]:
    """The task of that name. Only its own file is imported, not those of the other five."""
    if name not in TASKS:
        raise InputError(f"unknown task {name!r}; there are {', '.join(TASKS)}")
    found: Task[Any, Any] = import_module(f"elmokit.tasks.models.{name}").TASK
    return found
