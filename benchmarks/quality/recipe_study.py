"""Which recipe is best at equal time: short runs on the real corpus, one change at a time.

    python benchmarks/quality/recipe_study.py CORPUS OUT [--probes DATA] [--minutes 4] [--only NAME]

Every run gets the same CPU time on one core: its pace is measured first, then it trains for as
many tokens as that time allows, the rate falling to zero at the end. Perplexity is by the full
softmax on the same 30,000 held-out predictions per direction, mean of both. CORPUS is made by
`elmokit prepare`. With --probes, what the frozen vectors are worth is measured too, on development
sets alone: part of speech at the first LSTM layer (EWT dev, learned from 2,500 training sentences)
and senses at the second (semeval2007, from 8,000 sentences of SemCor); DATA holds ewt/ and wsd/.
Results are kept in OUT, one file per run; an interrupted study resumes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import torch

from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.probes.part_of_speech import part_of_speech_probe, read_pos_data
from elmokit.analysis.probes.senses import DEVELOPMENT_SET, read_sense_data, word_senses
from elmokit.embed.embedder import Embedder
from elmokit.files import write_json
from elmokit.pretrain.config import read_recipe
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.training.distributed import World
from elmokit.pretrain.training.initial_weights import first_weights
from elmokit.pretrain.training.loop import Trainer, TrainResult
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.pretrained import PretrainedModel

HELD_OUT = 30_000
PROBE_SENTENCES = 2_500
SEMCOR_SENTENCES = 8_000
PACE_TOKENS = 25_600
BASE = [
    "lstm.dim=512", "train.batch_size=64", "train.num_negatives=2048", "train.learning_rate=0.002",
    "train.window=20", "train.decay_share=1.0", "train.warmup_share=0.02", "train.average=0",
    "train.evaluate_every=1000000",
    "train.checkpoint_every=1000000",
]  # fmt: skip
CHANGES: dict[str, list[str]] = {
    "base": [],
    "cell 768": ["lstm.dim=768"],
    "cell 384": ["lstm.dim=384"],
    "cell 256, no projection": ["lstm.dim=256"],
    "cell 512, projection 128": ["lstm.projection_dim=128"],
    "Adam 0.001": ["train.learning_rate=0.001"],
    "Adam 0.004": ["train.learning_rate=0.004"],
    "Adagrad 0.2, as in the paper": [
        "train.optimizer=adagrad", "train.learning_rate=0.2", "train.scale_loss_by_window=true",
    ],
    "batch 32": ["train.batch_size=32"],
    "batch 128": ["train.batch_size=128"],
    "512 negatives": ["train.num_negatives=512"],
    "8192 negatives": ["train.num_negatives=8192"],
    "window 10": ["train.window=10"],
    "window 40": ["train.window=40"],
    "dropout 0.1": ["train.dropout=0.1"],
    "state reset at every sentence": ["train.reset_share=1.0"],
}  # fmt: skip


def run_one(
    name: str, data: Path, seconds: float, probe_data: Path | None
) -> dict[str, float | str]:
    """Train under ``name`` for ``seconds`` of CPU time, in this process, on one thread."""
    torch.set_num_threads(1)
    corpus = Corpus.open(data)
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        train(name, with_heldout(corpus, 100), PACE_TOKENS, Path(folder, "pace"))
        pace = PACE_TOKENS / (time.process_time() - started)
        result = train(
            name, with_heldout(corpus, HELD_OUT), int(pace * seconds), Path(folder, "run")
        )
    assert result.perplexity is not None
    return {
        "name": name,
        "tokens_per_cpu_second": pace,
        "tokens": result.tokens,
        "perplexity": result.perplexity.mean,
        "seconds": seconds,
        **(probe(result, name, probe_data) if probe_data else {}),
    }


def probe(result: TrainResult, name: str, data: Path) -> dict[str, float]:
    """What the vectors of a trained model know, by development sets."""
    model = PretrainedModel(result.bilm, TokenIndexer.utf8(), "native", name)
    encoder = BiLmEncoder(Embedder(model))
    tagged = read_pos_data(data / "ewt", PROBE_SENTENCES)
    tags = part_of_speech_probe([encoder], tagged._replace(test=tagged.dev), quiet=True)
    senses = word_senses(
        [encoder], read_sense_data(data / "wsd", [DEVELOPMENT_SET]), SEMCOR_SENTENCES, quiet=True
    )
    return {
        "pos": next(row.development for row in tags.rows if row.layer == "layer 1"),
        "senses": next(row.f1[DEVELOPMENT_SET] for row in senses.rows if row.layer == "layer 2"),
    }


def train(name: str, corpus: Corpus, max_tokens: int, out: Path) -> TrainResult:
    recipe = read_recipe("small", [*BASE, *CHANGES[name], f"train.max_tokens={max_tokens}"])
    torch.manual_seed(recipe.train.seed)
    return Trainer(recipe, corpus, out, World(), *first_weights(recipe, corpus)).run()


def with_heldout(corpus: Corpus, num_positions: int) -> Corpus:
    return replace(corpus, heldout=corpus.heldout.head(num_positions))


def run_all(
    names: list[str], data: Path, out: Path, seconds: float, jobs: int, probes: Path | None
) -> None:
    """Each run in a process of its own, ``jobs`` at a time; those already in ``out`` are kept."""

    def start(name: str) -> None:
        command = [sys.executable, __file__, str(data), str(out), "--one", name]
        command += ["--probes", str(probes)] if probes else []
        subprocess.run([*command, "--minutes", str(seconds / 60)], check=True, stdout=sys.stderr)

    todo = [name for name in names if not result_file(out, name).exists()]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(start, todo))


def result_file(out: Path, name: str) -> Path:
    return out / (name.replace(" ", "-").replace(",", "") + ".json")


def table(names: list[str], out: Path) -> str:
    rows = [
        "| recipe | tokens/CPU s | tokens seen | perplexity | POS, layer 1 | senses, layer 2 |",
        "|---|---|---|---|---|---|",
    ]
    for name in names:
        found = json.loads(result_file(out, name).read_text())
        rows.append(
            f"| {name} | {found['tokens_per_cpu_second']:,.0f} | {found['tokens']:,} "
            f"| {found['perplexity']:.0f} | {shown(found.get('pos'))} "
            f"| {shown(found.get('senses'))} |"
        )
    return "\n".join(rows)


def shown(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--probes", type=Path, metavar="DATA")
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=CHANGES, default=list(CHANGES))
    parser.add_argument("--one", choices=CHANGES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    seconds = 60 * options.minutes
    options.out.mkdir(parents=True, exist_ok=True)
    if options.one:
        found = run_one(options.one, options.data, seconds, options.probes)
        write_json(result_file(options.out, options.one), found)
        return
    run_all(options.only, options.data, options.out, seconds, options.jobs, options.probes)
    print(table(options.only, options.out))


if __name__ == "__main__":
    main()
