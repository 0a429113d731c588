"""The numbers of the paper (Peters et al., 2018), shown beside ours."""

from typing import NamedTuple


class TaskRow(NamedTuple):
    """A row of Table 1, on test sets; ``reduction`` is the relative error reduction in percent."""

    baseline: float
    elmo: float
    reduction: float


TASKS = {
    "squad": TaskRow(81.1, 85.8, 24.9),
    "entailment": TaskRow(88.0, 88.7, 5.8),
    "srl": TaskRow(81.4, 84.6, 17.2),
    "coref": TaskRow(67.2, 70.4, 9.8),
    "ner": TaskRow(90.15, 92.22, 21.0),
    "sentiment": TaskRow(51.4, 54.7, 6.8),
}
"""Table 1, in its order."""

SENSES = (
    ("WordNet first sense", 65.9),
    ("Raganato et al. (2017)", 69.9),
    ("Iacobacci et al. (2016)", 70.1),
    ("CoVe, layer 1", 59.4),
    ("CoVe, layer 2", 64.7),
    ("biLM, layer 1", 67.4),
    ("biLM, layer 2", 69.0),
)
"""Table 5: F1 on the four sets without semeval2007."""

PART_OF_SPEECH = (
    ("Collobert et al. (2011)", 97.3),
    ("Ma and Hovy (2016)", 97.6),
    ("Ling et al. (2015)", 97.8),
    ("CoVe, layer 1", 93.3),
    ("CoVe, layer 2", 92.8),
    ("biLM, layer 1", 97.3),
    ("biLM, layer 2", 96.8),
)
"""Table 6: accuracy on the Penn Treebank."""


class GridRow(NamedTuple):
    """Tables 2 and 3, development sets."""

    task: str
    baseline: float
    last_only: float
    all_lambda_1: float
    all_lambda_0001: float
    input_only: float
    input_and_output: float
    output_only: float


GRID = (
    GridRow("SQuAD", 80.8, 84.7, 85.0, 85.2, 85.1, 85.6, 84.8),
    GridRow("SNLI", 88.1, 89.1, 89.3, 89.5, 88.9, 89.5, 88.7),
    GridRow("SRL", 81.6, 84.1, 84.6, 84.8, 84.7, 84.3, 80.9),
)

TRANSFER = (
    ("SNLI", 72.1, 16.8),
    ("CoNLL-2003", 103.2, 46.3),
    ("CoNLL-2012", 92.3, None),
    ("SQuAD contexts", 99.1, 43.5),
    ("SQuAD questions", 158.2, 52.0),
    ("SST", 131.5, 78.6),
)
"""Supplement: perplexity on a task's text before and after fine-tuning."""

PERPLEXITY = 39.7
"""Average of forward and backward on held-out 1 Billion Word text."""
