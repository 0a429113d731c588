"""SQuAD 1.1 json: contexts, questions and answers, tokenised here; answers become token spans."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from elmokit.errors import InputError
from elmokit.recipe import parse_json
from elmokit.text.sources import read_lines
from elmokit.text.tokenize import Token, tokenize

TokenSpan = tuple[int, int]
"""First and last token, both included."""


class Answer(NamedTuple):
    """A reference answer, as written in the context."""

    text: str
    start: int
    """The character of the context where it starts."""


@dataclass(frozen=True, eq=False)
class Passage:
    """A context, shared by the questions on it; tokenised when first asked for."""

    text: str

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens of the text, with their character offsets."""
        return tuple(tokenize(self.text))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The tokens as strings."""
        return tuple(token.text for token in self.tokens)


@dataclass(frozen=True, eq=False)
class QaExample:
    """A question on a passage, and its answers."""

    name: str
    passage: Passage
    question: str
    answers: tuple[Answer, ...]
    """All reference answers; none where they are not known."""
    article: str = ""
    """The title of the article that the context is from."""

    @cached_property
    def question_words(self) -> tuple[str, ...]:
        """The tokens of the question."""
        return tuple(token.text for token in tokenize(self.question))

    def text_of(self, span: TokenSpan) -> str:
        """The characters of the context between two tokens, unchanged."""
        tokens = self.passage.tokens
        return self.passage.text[tokens[span[0]].start : tokens[span[1]].end]


def read_squad(path: Path) -> list[QaExample]:
    """Every question of a file, in order; a file without any answer is refused."""
    text = "\n".join(line for _, line in read_lines(path))
    examples = list(_questions(text, str(path))) if text.strip() else []
    if examples and not any(example.answers for example in examples):
        raise InputError(
            f"{path}: none of its {len(examples):,} questions has an answer to learn or score by; "
            f"give a file with answers (task predict, without --labelled, needs none)"
        )
    return examples


def parse_questions(lines: Iterable[str], where: str) -> Iterator[QaExample]:
    """``question TAB context`` on every line; or SQuAD's json, whose answers are left out."""
    lines = iter(lines)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            yield QaExample(f"{where} {number}", Passage(""), "", ())
            continue
        if line.lstrip().startswith("{"):
            text = "\n" * (number - 1) + line + "".join(lines)
            yield from (replace(example, answers=()) for example in _questions(text, where))
            return
        question, tab, context = line.rstrip("\r\n").partition("\t")
        if not tab or not question.strip() or not context.strip():
            raise InputError(
                f"{where}, line {number}: expected a question, a tab and the text to find the "
                f"answer in"
            )
        yield QaExample(f"{where} {number}", Passage(context), question, ())


def answer_spans(example: QaExample, *, every_occurrence: bool) -> list[TokenSpan]:
    """Token spans of the first reference answer: where it is said to start, or wherever it occurs.

    ``every_occurrence`` is for data whose offsets are guesses: the loss may then choose.
    Tokens that an answer cuts through belong to it.
    """
    if not example.answers:
        return []
    answer = example.answers[0]
    starts = [answer.start]
    if every_occurrence:
        starts = _occurrences(answer.text, example.passage.text)
    tokens = example.passage.tokens
    spans = [_span(tokens, start, start + len(answer.text)) for start in starts]
    return sorted({span for span in spans if span is not None})


def _occurrences(answer: str, context: str) -> list[int]:
    """Where ``answer`` occurs as whole words; anywhere, if it never does."""
    starts = []
    start = context.find(answer)
    while start >= 0:
        starts.append(start)
        start = context.find(answer, start + 1)
    whole = [start for start in starts if _is_whole(context, start, start + len(answer))]
    return whole or starts


def _is_whole(context: str, start: int, end: int) -> bool:
    """Neither side cuts a word in two."""
    before = context[start - 1 : start].isalnum() and context[start].isalnum()
    after = context[end : end + 1].isalnum() and context[end - 1].isalnum()
    return not before and not after


def _span(tokens: Sequence[Token], start: int, end: int) -> TokenSpan | None:
    """Tokens that share a character with [start, end)."""
    first = bisect_right([token.end for token in tokens], start)
    last = bisect_left([token.start for token in tokens], end) - 1
    return (first, last) if first <= last else None


def _questions(text: str, source: str) -> Iterator[QaExample]:
    try:
        values = parse_json(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source}, line {error.lineno}, column {error.colno}: broken JSON ({error.msg})"
        ) from None
    where = source
    try:
        for article in values["data"]:
            title = article.get("title", "untitled")
            for number, paragraph in enumerate(article["paragraphs"]):
                where = f"{source}: paragraph {number} of {title!r}"
                passage = Passage(_text(paragraph["context"], where))
                for question in paragraph["qas"]:
                    where = f"{source}: question {question.get('id', '?')!r}"
                    answers = _answers(question.get("answers", []), passage.text, where)
                    asked = _text(question["question"], where)
                    yield QaExample(str(question["id"]), passage, asked, answers, title)
    except (KeyError, TypeError, AttributeError) as error:
        cause = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{where}: not in SQuAD's form data / paragraphs / context, qas / id, question, "
            f"answers ({cause})"
        ) from None


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}: expected text, got {value!r}")
    return value


def _answers(values: Any, context: str, where: str) -> tuple[Answer, ...]:
    answers = []
    for value in values:
        answer = Answer(_text(value["text"], where), value["answer_start"])
        found = context[answer.start : answer.start + len(answer.text)]
        if found != answer.text or not answer.text:
            raise InputError(
                f"{where}: the answer {answer.text!r} is not at character "
                f"{answer.start} of its context; correct answer_start"
            )
        answers.append(answer)
    return tuple(answers)
