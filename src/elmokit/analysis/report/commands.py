"""Commands as a person types them: copied from the page, they make again what stands above them."""

import shlex
from collections.abc import Iterable, Sequence

from elmokit.analysis.report.config import ReportConfig


def elmokit_line(*words: object) -> str:
    """Quoted for a shell.

    >>> elmokit_line("analyse", "pos", "", "--data", "my data")
    "elmokit analyse pos '' --data 'my data'"
    """
    return shlex.join(["elmokit", *map(str, words)])


def option(name: str, value: object) -> tuple[str, ...]:
    """Nothing where there is no value."""
    return () if value is None or value == "" else (name, str(value))


def repeated(name: str, values: Iterable[object]) -> tuple[str, ...]:
    """An option that is given once a value."""
    return tuple(word for value in values for word in (name, str(value)))


def model_option(config: ReportConfig) -> tuple[str, ...]:
    return option("--model", config.model)


def percents(shares: Sequence[float]) -> str:
    """Of shares of one, as ``--shares`` takes them."""
    return ",".join(f"{100 * share:g}" for share in shares)


_OPTIONS = {
    "corpus": "--corpus",
    "text_tokens": "--text-tokens",
    "word": "--word",
    "table1_seeds": "--table1-seeds",
    "recipe": "--recipe",
    "seeds": "--seeds",
    "max_minutes": "--minutes",
    "jobs": "--jobs",
    "train_sentences": "--train-sentences",
    "semcor_sentences": "--semcor-sentences",
}
"""Settings that are an option's value as they are."""


def report_command(config: ReportConfig, sections: Sequence[str] | None) -> str:
    """The report's own; what is as by default is left out."""
    default = ReportConfig(config.out, config.data)
    words = ["report", "-o", str(config.out), "--data", str(config.data), *model_option(config)]
    words += option("--only", "none" if sections is None else ",".join(sections))
    words += repeated("--seen", config.seen)
    words += repeated("--text", config.text)
    for name, flag in _OPTIONS.items():
        if getattr(config, name) != getattr(default, name):
            words += option(flag, getattr(config, name))
    if config.table1_tasks != default.table1_tasks:
        words += option("--table1-tasks", ",".join(config.table1_tasks))
    if config.tasks != default.tasks:
        words += option("--tasks", ",".join(config.tasks))
    if config.shares != default.shares:
        words += option("--shares", percents(config.shares))
    words += repeated("--set", (f"{task}:{setting}" for task, setting in config.task_settings))
    words += repeated("--tune", config.tune)
    words += ("--layer-norm",) if config.has_layer_norm else ()
    return elmokit_line(*words)
