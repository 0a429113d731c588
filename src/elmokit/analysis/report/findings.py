"""The paper's findings, one by one: what our numbers say to each, in words."""

from collections.abc import Sequence
from statistics import mean, variance
from typing import Any, NamedTuple

from elmokit.analysis.mix_weights import MixWeights
from elmokit.analysis.part_of_speech import PosResult
from elmokit.analysis.perplexities import PerplexityResult
from elmokit.analysis.sample_efficiency import SampleEfficiency, reaches
from elmokit.analysis.senses import SensesResult
from elmokit.analysis.six_tasks import SixTasks
from elmokit.analysis.task_runs import ALL_LAYERS, TITLES, GridResult
from elmokit.analysis.transfer import Transfer

ONE_SEED = 0.5
"""Percent points within which two single runs are not told apart."""


class Finding(NamedTuple):
    claim: str
    verdict: str
    """confirmed, contradicted, mixed, or no clear difference."""
    evidence: str


def _verdict(differences: Sequence[float], margins: Sequence[float]) -> str:
    """Differences are positive where the claim holds; within its margin one says nothing."""
    signs = {
        0 if abs(value) <= margin else (1 if value > 0 else -1)
        for value, margin in zip(differences, margins, strict=True)
    }
    if signs == {0}:
        return "no clear difference"
    if -1 not in signs:
        return "confirmed"
    return "mixed" if 1 in signs else "contradicted"


def _sampling_error(percent: float, number: int) -> float:
    """One standard error of a share of ``number`` tokens, in percent points."""
    share = percent / 100
    return 100 * float((share * (1 - share) / max(number, 1)) ** 0.5)


def _seed_error(one: Sequence[float], other: Sequence[float]) -> float:
    """One standard error of the difference of two means over seeds."""
    if len(one) < 2 or len(other) < 2:
        return ONE_SEED
    return float((variance(one) / len(one) + variance(other) / len(other)) ** 0.5)


def context_helps_syntax(result: PosResult, encoder: str) -> Finding | None:
    """The best layer of a model against the best of every other row."""
    best: dict[str, float] = {}
    for row in result.rows:
        best[row.encoder] = max(row.accuracy["all"], best.get(row.encoder, 0.0))
    ours = best.pop(encoder, None)
    if ours is None or not best:
        return None
    margin = _sampling_error(ours, result.num_tokens["all"])
    return Finding(
        "The trained biLM knows more of part of speech than random weights and static vectors",
        _verdict([ours - other for other in best.values()], [margin] * len(best)),
        f"best layer {ours:.1f}; "
        + ", ".join(f"{name} {other:.1f}" for name, other in best.items()),
    )


def lower_layer_for_syntax(result: PosResult, encoder: str) -> Finding | None:
    scores = {row.layer: row.accuracy["all"] for row in result.rows if row.encoder == encoder}
    if not {"layer 1", "layer 2"} <= scores.keys():
        return None
    first, second = scores["layer 1"], scores["layer 2"]
    return Finding(
        "The first LSTM layer is better at part of speech than the second",
        _verdict([first - second], [_sampling_error(first, result.num_tokens["all"])]),
        f"layer 1 {first:.1f}, layer 2 {second:.1f} (paper: 97.3 and 96.8, on the Penn Treebank)",
    )


def context_helps_senses(result: SensesResult, encoder: str) -> Finding | None:
    column = _column(result)
    scores = [row.f1[column] for row in result.rows if row.encoder == encoder]
    if not scores:
        return None
    first = result.rows[0].f1[column]
    margin = _sampling_error(first, result.num_instances[column])
    return Finding(
        "Nearest neighbours in context beat WordNet's first sense",
        _verdict([max(scores) - first], [margin]),
        f"best layer {max(scores):.1f}, first sense {first:.1f} (paper: 69.0 and 65.9)",
    )


def _column(result: SensesResult) -> str:
    """The four sets that the paper's figures stand on, where they were measured."""
    return "four" if "four" in result.rows[0].f1 else next(iter(result.rows[0].f1))


def higher_layer_for_senses(result: SensesResult, encoder: str) -> Finding | None:
    column = _column(result)
    scores = {row.layer: row.f1[column] for row in result.rows if row.encoder == encoder}
    if not {"layer 1", "layer 2"} <= scores.keys():
        return None
    first, second = scores["layer 1"], scores["layer 2"]
    return Finding(
        "The second LSTM layer is better at word senses than the first",
        _verdict([second - first], [_sampling_error(second, result.num_instances[column])]),
        f"layer 2 {second:.1f}, layer 1 {first:.1f}, first sense "
        f"{result.rows[0].f1[column]:.1f} (paper: 69.0, 67.4 and 65.9)",
    )


def lower_than_ngram(result: PerplexityResult) -> Finding | None:
    """Of the model from a fresh start, as the n-gram has it."""
    ngram = result.rows[0]
    models = [row for row in result.rows[1:] if row.start == ngram.start]
    if not models:
        return None
    each = ", ".join(f"{row.name} {row.forward:.1f}" for row in models)
    return Finding(
        "The biLM predicts better than a 5-gram of the same text",
        _verdict([ngram.forward - row.forward for row in models], [0.0] * len(models)),
        f"forward perplexity {each}, {ngram.name} {ngram.forward:.1f}",
    )


def elmo_helps_every_task(result: SixTasks) -> Finding | None:
    own = [gain for gain in result.gains if not gain.test_set]
    if not own:
        return None
    each = ", ".join(f"{gain.title} {gain.gain:+.1f}" for gain in own)
    return Finding(
        "Adding ELMo helps every task",
        _verdict(
            [gain.gain for gain in own], [_seed_error(gain.elmo, gain.baseline) for gain in own]
        ),
        f"test scores: {each} (paper: +0.7 for SNLI to +4.7 for SQuAD)",
    )


def all_layers_beat_the_last(result: GridResult) -> Finding | None:
    gains, margins = {}, []
    for task in result.tasks:
        last, everything = result.scores(task, "last only"), result.scores(task, ALL_LAYERS)
        if last and everything:
            gains[task] = mean(everything) - mean(last)
            margins.append(_seed_error(everything, last))
    if not gains:
        return None
    each = ", ".join(f"{TITLES.get(task, task)} {gain:+.1f}" for task, gain in gains.items())
    return Finding(
        "All layers, weighted, are better than the last alone",
        _verdict(list(gains.values()), margins),
        f"{each} (paper: SQuAD +0.5, SNLI +0.4, SRL +0.7)",
    )


ATTENTIVE = ("squad", "entailment")
"""Tasks with attention above their first RNN: there the paper gains from ELMo at the output."""


def places_differ_by_task(result: GridResult) -> Finding | None:
    differences, margins, parts = [], [], []
    for task in result.tasks:
        at_input = result.scores(task, "input")
        at_both = result.scores(task, "input + output")
        if at_input and at_both:
            gain = mean(at_both) - mean(at_input)
            differences.append(gain if task in ATTENTIVE else -gain)
            margins.append(_seed_error(at_both, at_input))
            parts.append(f"{TITLES.get(task, task)} {gain:+.1f}")
    if not parts:
        return None
    return Finding(
        "ELMo at the output too helps entailment and question answering, and no other task",
        _verdict(differences, margins),
        f"input and output against input alone: {', '.join(parts)} (paper: SQuAD +0.5, SNLI +0.6, "
        "SRL -0.4)",
    )


def elmo_needs_less_data(results: Sequence[SampleEfficiency]) -> Finding | None:
    gains, margins, parts = [], [], []
    for result in results:
        each = []
        for point in result.points:
            gains.append(mean(point.elmo) - mean(point.baseline))
            margins.append(_seed_error(point.elmo, point.baseline))
            each.append(f"{gains[-1]:+.1f} at {100 * point.share:g} %")
        epoch = reaches(result)
        when = f"; the baseline's best score in epoch {epoch}" if epoch else ""
        parts.append(f"{TITLES.get(result.task, result.task)}: {', '.join(each)}{when}")
    if not gains:
        return None
    verdict = _verdict(gains, margins)
    return Finding("ELMo needs less data", verdict, "with ELMo, " + ". ".join(parts))


def input_favours_the_first_layer(result: MixWeights) -> Finding | None:
    at_input = [mix for mix in result.mixes if mix.place == "input" and len(mix.weights) == 3]
    if not at_input:
        return None
    differences = [100 * (mix.weights[1] - max(mix.weights[0], mix.weights[2])) for mix in at_input]
    each = ", ".join(
        f"{TITLES.get(mix.task, mix.task)} {' / '.join(f'{w:.2f}' for w in mix.weights)}"
        for mix in at_input
    )
    return Finding(
        "At the input the learned weights favour the first LSTM layer",
        _verdict(differences, [1.0] * len(differences)),
        f"token layer / layer 1 / layer 2: {each}",
    )


def tuning_lowers_perplexity(results: Sequence[Transfer]) -> Finding | None:
    if not results:
        return None
    each = ". ".join(
        f"{TITLES.get(r.task, r.task)}: perplexity {r.before:.1f} to {r.after:.1f}, "
        f"test score {mean(r.score_before):.1f} to {mean(r.score_after):.1f}"
        for r in results
    )
    return Finding(
        "Fine-tuning on a task's text lowers its perplexity",
        _verdict([r.before - r.after for r in results], [0.0] * len(results)),
        f"{each} (paper: SNLI 72.1 to 16.8)",
    )


def find_out(results: dict[str, Any], model: str) -> list[Finding]:
    """The paper's findings for which there are numbers."""
    found = []
    if "tasks" in results:
        found.append(elmo_helps_every_task(results["tasks"]))
    if "pos" in results:
        found.append(lower_layer_for_syntax(results["pos"], model))
        found.append(context_helps_syntax(results["pos"], model))
    if "senses" in results:
        found.append(higher_layer_for_senses(results["senses"], model))
        found.append(context_helps_senses(results["senses"], model))
    if "layers" in results:
        found.append(all_layers_beat_the_last(results["layers"]))
    if "places" in results:
        found.append(places_differ_by_task(results["places"]))
    if "efficiency" in results:
        found.append(elmo_needs_less_data(results["efficiency"].results))
    if "mixes" in results:
        found.append(input_favours_the_first_layer(results["mixes"]))
    if "transfer" in results:
        found.append(tuning_lowers_perplexity(results["transfer"].results))
    if "perplexity" in results:
        found.append(lower_than_ngram(results["perplexity"]))
    return [finding for finding in found if finding is not None]
