"""DOMAIN TRANSFER: continue training a biLM on the text of a domain, without labels."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from elmokit.device import usable_device
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.softmax import OutputWords, Softmax
from elmokit.pretrain.config import Recipe, TrainConfig, recipe_from_plain
from elmokit.pretrain.corpus.corpus import Corpus, Split, warn_if_few
from elmokit.pretrain.perplexity import Perplexity, measure_perplexity
from elmokit.pretrain.training.initial_weights import carry_over
from elmokit.pretrain.training.run import train
from elmokit.pretrain.training.run_folder import read_run
from elmokit.recipe import apply_setting
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

FINETUNE = TrainConfig(
    batch_size=32,
    learning_rate=0.0005,
    warmup_share=0.05,
    num_epochs=1.0,
    evaluate_every=2000,
    checkpoint_every=500,
)
"""One epoch at a low rate; new softmax rows are first fitted for one epoch at a higher rate."""
SOFTMAX_RATE = 0.002


class FinetuneResult(NamedTuple):
    """The perplexity before and after fine-tuning, on the same held-out text."""

    before: Perplexity
    after: Perplexity
    fitted_words: int
    """Number of softmax rows that the model lacked; fitted first, with the LSTMs frozen."""


def finetune(
    model: PretrainedModel,
    data: Path,
    out: Path,
    changes: Sequence[str] = (),
    device: str = "cpu",
    new_text: Path | None = None,
) -> FinetuneResult:
    """Train a model further on a domain's text, and measure what it gained.

    The tuned model is written to folder ``out``. Its runs are kept in ``out``.run, where an
    interrupted call resumes.

    Softmax rows are kept for the words that the model knows. Missing rows (published models have
    none) are fitted first with everything else frozen, and ``before`` is measured after that, so
    that it shows how well the original biLM predicts the new text.

    Args:
        model: As ``load_pretrained`` returns it; its weights are changed.
        data: A corpus of the domain's text, made by ``prepare``.
        out: The folder for the tuned model.
        changes: ``train.name=value``, as the option ``--set`` takes them.
        device: ``cpu``, ``cuda``, ``cuda:1`` ..., or ``auto``.
        new_text: Measure on the training part of this corpus, prepared with the vocabulary of
            ``data``, instead of on the held-out part of ``data``.
    """
    if model.config.characters != "utf8" or model.config.char_cnn is None:
        raise InputError(
            f"{model.source}: cannot be fine-tuned; give a model that reads UTF-8 characters, "
            f"which can encode new words"
        )
    recipe = _recipe(model, changes)
    corpus = Corpus.open(data)
    softmax, num_new = carry_over(model.output_words, corpus.vocabulary, model.bilm)
    measured, split = _to_measure_on(corpus, new_text)
    warning = warn_if_few(split.num_tokens)
    if warning:
        print(warning, file=sys.stderr)
    runs = out.with_name(out.name + ".run")
    place = usable_device(device)
    bilm, softmax = model.bilm.to(place), softmax.to(place)
    if num_new:
        bilm.requires_grad_(False)
        fit = replace(recipe, train=replace(recipe.train, learning_rate=SOFTMAX_RATE))
        _train_on(fit, data, runs / "softmax", bilm, softmax, device)
        bilm.requires_grad_(True)
    max_tokens = recipe.train.final_evaluate_tokens or None  # the same text as after training
    before = measure_perplexity(bilm, softmax, measured, split, max_tokens=max_tokens)
    after = _train_on(recipe, data, runs / "tune", bilm, softmax, device)
    if new_text is not None:
        after = measure_perplexity(bilm, softmax, measured, split, max_tokens=max_tokens)
    tuned = replace(
        model,
        settled=None,
        output_words=OutputWords(softmax, corpus.vocabulary),
        card={**model.card, "finetuned_on": str(data)},
    )
    write_native(tuned, out)
    return FinetuneResult(before, after, num_new)


def _to_measure_on(corpus: Corpus, new_text: Path | None) -> tuple[Corpus, Split]:
    if new_text is None:
        return corpus, corpus.heldout
    other = Corpus.open(new_text)
    if other.vocabulary.words != corpus.vocabulary.words:
        raise InputError(
            f"{new_text}: was not prepared with the vocabulary of {corpus.path}; prepare it with  "
            f"--vocabulary {corpus.path / 'vocab.txt'}"
        )
    return other, other.train


def _train_on(
    recipe: Recipe, data: Path, run: Path, bilm: BiLm, softmax: Softmax, device: str
) -> Perplexity:
    """Train to the end, resuming the run if it was interrupted; rejects runs of other models.

    Returns the perplexity on the held-out part of ``data``.
    """
    if (run / "run.json").is_file() and read_run(run) != (recipe, data.resolve()):
        raise InputError(
            f"{run}: contains a run of another model, other data or other settings; choose "
            f"another folder"
        )
    result = train(recipe, data, run, resume=True, start_from=(bilm, softmax), device=device)
    if result.perplexity is None:
        raise InputError(f"{run}: stopped before the end; run the same command to resume")
    return result.perplexity


def _recipe(model: PretrainedModel, changes: Sequence[str]) -> Recipe:
    """The recipe for fine-tuning; it names the model, which identifies the run."""
    values = Recipe(model.config, replace(FINETUNE, start_from=model.source)).to_plain()
    for change in changes:
        if not change.startswith("train."):
            raise InputError(f"--set {change}: fine-tuning can only change train.* settings")
        apply_setting(values, change)
    return recipe_from_plain(values, "--set")
