"""The paper's findings, and what our numbers say about each."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import mean
from typing import Any, NamedTuple

from elmokit.analysis.encoders.bilm import carried_name
from elmokit.analysis.encoders.encoder import row_name
from elmokit.analysis.experiments.layers import ALL_LAYERS
from elmokit.analysis.experiments.mix_weights import MixWeights
from elmokit.analysis.experiments.runs import TITLES, GridResult
from elmokit.analysis.experiments.sample_efficiency import Point, SampleEfficiency, reaches
from elmokit.analysis.experiments.table1 import SixTasks
from elmokit.analysis.experiments.transfer import Transfer
from elmokit.analysis.lm.perplexities import PerplexityResult
from elmokit.analysis.probes.part_of_speech import PosResult
from elmokit.analysis.probes.senses import DEVELOPMENT_SET, SensesResult
from elmokit.analysis.report.verdicts import (
    Deviation,
    Difference,
    deviation,
    noise,
    of_layers,
    of_sample,
    of_seeds,
    of_shares,
    verdict,
)


class Finding(NamedTuple):
    """A claim of the paper, and what our numbers say about it."""

    claim: str
    verdict: str
    """confirmed or contradicted (in part), mixed, or no clear difference; if the noise is unknown,
    agrees or disagrees. Says so if there is only one seed."""
    evidence: str


def context_helps_syntax(result: PosResult, encoder: str) -> Finding | None:
    """The best layer of a model compared with the best of each other encoder."""
    best: dict[str, float] = {}
    for row in result.rows:
        best[row.encoder] = max(row.accuracy["all"], best.get(row.encoder, 0.0))
    ours = best.pop(encoder, None)
    if ours is None or not best:
        return None
    number = result.num_tokens["all"]
    return Finding(
        "The trained biLM knows more of part of speech than random weights and static vectors",
        verdict([of_shares(ours, other, number) for other in best.values()]),
        f"best layer {ours:.1f}; "
        + ", ".join(f"{name} {other:.1f}" for name, other in best.items()),
    )


def lower_layer_for_syntax(result: PosResult, encoder: str) -> Finding | None:
    """The first LSTM layer of a model compared with its second, for part of speech."""
    rows = {row.layer: row for row in result.rows if row.encoder == encoder}
    if not {"layer 1", "layer 2"} <= rows.keys():
        return None
    first, second = (rows[layer].accuracy["all"] for layer in ("layer 1", "layer 2"))
    apart, number = rows["layer 2"].against_lower.get("all"), result.num_tokens["all"]
    return Finding(
        "The first LSTM layer is better at part of speech than the second",
        verdict([of_layers(first, second, apart, number)]),
        f"layer 1 {first:.1f}, layer 2 {second:.1f} (paper: 97.3 and 96.8, on the Penn Treebank)",
    )


def context_helps_senses(result: SensesResult, encoder: str) -> Finding | None:
    """The layer that is best on the development set compared with WordNet's first sense."""
    column = _column(result)
    names = (encoder, carried_name(encoder))
    rows = [row for row in result.rows if row.encoder in names]
    if not rows:
        return None
    chosen = max(rows, key=lambda row: row.f1.get(DEVELOPMENT_SET, row.f1[column]))
    first, ours = result.rows[0].f1[column], chosen.f1[column]
    apart, number = chosen.against_first.get(column), result.num_instances[column]
    return Finding(
        "Nearest neighbours in context beat WordNet's first sense",
        verdict([of_layers(ours, first, apart, number)]),
        f"{row_name(chosen.encoder, chosen.layer)} (the best on {DEVELOPMENT_SET}) {ours:.1f}, "
        f"first sense {first:.1f} (paper: 69.0 and 65.9)",
    )


def _column(result: SensesResult) -> str:
    """The four sets that the paper reports, if they were measured."""
    return "four" if "four" in result.rows[0].f1 else next(iter(result.rows[0].f1))


def higher_layer_for_senses(result: SensesResult, encoder: str) -> Finding | None:
    """The second LSTM layer of a model compared with its first, for word senses."""
    column = _column(result)
    rows = {row.layer: row for row in result.rows if row.encoder == encoder}
    if not {"layer 1", "layer 2"} <= rows.keys():
        return None
    first, second = (rows[layer].f1[column] for layer in ("layer 1", "layer 2"))
    apart, number = rows["layer 2"].against_lower.get(column), result.num_instances[column]
    return Finding(
        "The second LSTM layer is better at word senses than the first",
        verdict([of_layers(second, first, apart, number)]),
        f"layer 2 {second:.1f}, layer 1 {first:.1f}, first sense "
        f"{result.rows[0].f1[column]:.1f} (paper: 69.0, 67.4 and 65.9)",
    )


def lower_than_ngram(result: PerplexityResult) -> Finding | None:
    """The biLM with a fresh start, like the n-gram model, compared with the n-gram model."""
    ngram = result.rows[0]
    models = [row for row in result.rows[1:] if row.start == ngram.start]
    if not models:
        return None
    each = ", ".join(f"{row.name} {row.forward:.1f}" for row in models)
    counted = f"{result.num_training_predictions:,} words and ends of sentences"
    return Finding(
        f"The biLM predicts better than a {ngram.name.split(',')[0]} counted on {counted}",
        verdict([Difference(ngram.forward - row.forward, 0.0) for row in models]),
        f"forward perplexity {each}, {ngram.name} {ngram.forward:.1f}",
    )


def elmo_helps_every_task(result: SixTasks) -> Finding | None:
    """The test scores of Table 1, with ELMo and without."""
    own = [gain for gain in result.gains if not gain.test_set]
    if not own:
        return None
    each = ", ".join(f"{gain.title} {gain.gain:+.1f}" for gain in own)
    pooled = noise_of_tasks(result)
    differences = [of_seeds(gain.elmo, gain.baseline, pooled) for gain in own]
    return Finding(
        "Adding ELMo helps every task",
        verdict(differences),
        f"test scores: {each}{noise(differences)} (paper: +0.7 for SNLI to +4.7 for SQuAD)",
    )


def noise_of_tasks(result: SixTasks) -> Deviation | None:
    """The noise in Table 1, used for other tables whose runs have only one seed."""
    own = (gain for gain in result.gains if not gain.test_set)
    return deviation(cell for gain in own for cell in (gain.elmo, gain.baseline))


def all_layers_beat_the_last(result: GridResult, elsewhere: Deviation | None) -> Finding | None:
    """Table 2; ``elsewhere``: the noise to assume if there is only one seed."""
    differences = _by_task(result, ALL_LAYERS, "last only", elsewhere)
    if not differences:
        return None
    return Finding(
        "All layers, weighted, are better than the last alone",
        verdict(list(differences.values())),
        f"{_each_task(differences)} (paper: SQuAD +0.5, SNLI +0.4, SRL +0.7)",
    )


def _by_task(
    result: GridResult, better: str, worse: str, elsewhere: Deviation | None
) -> dict[str, Difference]:
    """The difference of two variants, for the tasks that have both."""
    cells = {
        (task, variant): result.scores(task, variant)
        for task in result.tasks
        for variant in result.variants
    }
    pooled = deviation(cells.values()) or elsewhere
    return {
        task: of_seeds(cells[task, better], cells[task, worse], pooled)
        for task in result.tasks
        if cells.get((task, better)) and cells.get((task, worse))
    }


def _each_task(differences: dict[str, Difference]) -> str:
    each = (f"{TITLES.get(task, task)} {found.value:+.1f}" for task, found in differences.items())
    return ", ".join(each) + noise(list(differences.values()))


ATTENTIVE = ("squad", "entailment")
"""Tasks with attention above their first RNN, for which ELMo at the output helped in the paper."""


def places_differ_by_task(result: GridResult, elsewhere: Deviation | None) -> Finding | None:
    """Table 3; ``elsewhere``: the noise to assume if there is only one seed."""
    differences = _by_task(result, "input + output", "input", elsewhere)
    if not differences:
        return None
    claimed = [
        found if task in ATTENTIVE else found._replace(value=-found.value)
        for task, found in differences.items()
    ]
    return Finding(
        "ELMo at the output too helps entailment and question answering, and no other task",
        verdict(claimed),
        f"input and output against input alone: {_each_task(differences)} (paper: SQuAD +0.5, "
        "SNLI +0.6, SRL -0.4)",
    )


def elmo_helps_at_every_share(
    results: Sequence[SampleEfficiency], elsewhere: Deviation | None
) -> Finding | None:
    """Figure 1: with ELMo and without, at each share of the data."""
    differences, parts = [], []
    pooled = _deviation_of_points(results) or elsewhere
    for result in results:
        each = []
        for point in result.points:
            differences.append(of_seeds(point.elmo, point.baseline, pooled))
            each.append(f"{differences[-1].value:+.1f} at {100 * point.share:g} %")
        epoch = reaches(result)
        when = f"; the baseline's best score in epoch {epoch}" if epoch else ""
        parts.append(f"{TITLES.get(result.task, result.task)}: {', '.join(each)}{when}")
    if not differences:
        return None
    return Finding(
        "ELMo helps with all of the data and with little",
        verdict(differences),
        f"with ELMo, {'. '.join(parts)}{noise(differences)}",
    )


def elmo_needs_less_data(
    results: Sequence[SampleEfficiency], elsewhere: Deviation | None
) -> Finding | None:
    """The paper's claim, for the two smallest shares: 1 % with ELMo is worth 10 % without."""
    differences, parts = [], []
    pooled = _deviation_of_points(results) or elsewhere
    for result in results:
        points = sorted(result.points, key=lambda point: point.share)
        pairs = list(pairwise(points))
        if pairs:
            least, next_least = pairs[0]
            differences.append(of_seeds(least.elmo, next_least.baseline, pooled))
            each = ", ".join(_reached(less, more) for less, more in pairs)
            parts.append(f"{TITLES.get(result.task, result.task)}: {each}")
    if not differences:
        return None
    return Finding(
        "ELMo needs less data: with the least it does as well as the baseline with the next "
        "larger share",
        verdict(differences),
        f"{'. '.join(parts)}{noise(differences)} (paper: SRL with 1 % has what the baseline has "
        "with 10 %)",
    )


def _reached(less: Point, more: Point) -> str:
    with_elmo, without = mean(less.elmo), mean(more.baseline)
    word = "reaches" if with_elmo >= without else "does not reach"
    return (
        f"{100 * less.share:g} % with ELMo ({with_elmo:.1f}) {word} {100 * more.share:g} % "
        f"without ({without:.1f})"
    )


def _deviation_of_points(results: Sequence[SampleEfficiency]) -> Deviation | None:
    return deviation(
        cell
        for result in results
        for point in result.points
        for cell in (point.elmo, point.baseline)
    )


def input_favours_the_first_layer(result: MixWeights) -> Finding | None:
    """Figure 2: the weight of layer 1 compared with the largest other weight, at the input."""
    at_input = [mix for mix in result.mixes if mix.place == "input" and len(mix.weights) == 3]
    if not at_input:
        return None
    differences = [
        of_sample([100 * (first - max(token, top)) for token, first, top in mix.by_seed])
        for mix in at_input
    ]
    each = ", ".join(
        f"{TITLES.get(mix.task, mix.task)} {' / '.join(f'{w:.2f}' for w in mix.weights)}"
        for mix in at_input
    )
    return Finding(
        "At the input the learned weights favour the first LSTM layer",
        verdict(differences),
        f"token layer / layer 1 / layer 2: {each}{noise(differences)}",
    )


def tuning_lowers_perplexity(results: Sequence[Transfer]) -> Finding | None:
    """The supplement: perplexity before and after fine-tuning."""
    if not results:
        return None
    each = ". ".join(
        f"{TITLES.get(r.task, r.task)}: perplexity {r.before:.1f} to {r.after:.1f}, "
        f"test score {mean(r.score_before):.1f} to {mean(r.score_after):.1f}"
        for r in results
    )
    return Finding(
        "Fine-tuning on a task's text lowers its perplexity",
        verdict([Difference(r.before - r.after, 0.0) for r in results]),
        f"{each} (paper: SNLI 72.1 to 16.8)",
    )


def find_out(results: dict[str, Any], model: str) -> list[Finding]:
    """The findings for which there are results."""
    found = []
    elsewhere = noise_of_tasks(results["tasks"]) if "tasks" in results else None
    if "tasks" in results:
        found.append(elmo_helps_every_task(results["tasks"]))
    if "pos" in results:
        found.append(lower_layer_for_syntax(results["pos"], model))
        found.append(context_helps_syntax(results["pos"], model))
    if "senses" in results:
        found.append(higher_layer_for_senses(results["senses"], model))
        found.append(context_helps_senses(results["senses"], model))
    if "layers" in results:
        found.append(all_layers_beat_the_last(results["layers"], elsewhere))
    if "places" in results:
        found.append(places_differ_by_task(results["places"], elsewhere))
    if "efficiency" in results:
        found.append(elmo_helps_at_every_share(results["efficiency"].results, elsewhere))
        found.append(elmo_needs_less_data(results["efficiency"].results, elsewhere))
    if "mixes" in results:
        found.append(input_favours_the_first_layer(results["mixes"].weights))
    if "transfer" in results:
        found.append(tuning_lowers_perplexity(results["transfer"].results))
    if "perplexity" in results:
        found.append(lower_than_ngram(results["perplexity"]))
    return [finding for finding in found if finding is not None]
