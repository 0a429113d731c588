"""Ray Data: embed a corpus of any size on any number of machines.

    import ray
    texts = ray.data.read_parquet("s3://bucket/texts")
    vectors = texts.map_batches(
        EmbedBatches,
        fn_constructor_kwargs={"model": "en-small", "pool": "mean"},
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=8),
    )

Each worker loads the model once and computes on one core. A text's vectors depend only on that
text, so a batch that a lost worker had started is simply computed again by another.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elmokit.embed.embedder import BATCH_TOKENS, Start, require_start
from elmokit.embed.files.command import EmbedOptions, require_intact
from elmokit.embed.files.to_file import parse_selection
from elmokit.embed.load import load
from elmokit.embed.mix import mixed_dim
from elmokit.embed.pooling import Pooling
from elmokit.embed.sentences import Vectors, tokens_of
from elmokit.errors import InputError, missing_extra
from elmokit.files import replacing_folder
from elmokit.model.kernels.lstm_inference import PrecisionName
from elmokit.weights.names import ModelName
from elmokit.weights.pretrained import Basis

try:
    import pyarrow as pa
    import pyarrow.parquet
    import ray
    import ray.data
except ImportError:
    raise missing_extra("Ray", "ray", "embedding on a Ray cluster") from None

ROWS_AT_ONCE = 256
"""Texts per batch: enough for sorting by length to pay off, few enough to share out evenly."""
TEXT_SUFFIXES = (".txt", ".txt.gz", ".txt.bz2")


class EmbedBatches:
    """A callable for ``map_batches``: adds vectors to a table with a column of text.

    Args:
        model: name or path of a model; a path must exist on every machine.
        layers: a mix or a layer, as ``elmokit embed --layers`` takes it.
        pool: ``"mean"``, ``"max"`` or ``"ends"`` adds the column ``vector``, one per text; None
            adds ``tokens`` and ``vectors``, one per token.
        column: the column with the text: strings, or lists of tokens.
        pretokenized: strings are tokens separated by spaces.
        start: ``"fresh"`` or ``"settled"``.
        batch_tokens: tokens per batch; limits the memory.
        keep_text: False leaves out the column of text, and ``tokens``.
        device: where the model runs.
        precision: precision of the LSTMs' weights, as in ``elmokit.load``.
        basis: what the vectors are for, as in ``elmokit.load``.
    """

    def __init__(
        self,
        model: ModelName = None,
        *,
        layers: str = "average",
        pool: Pooling | None = None,
        column: str = "text",
        pretokenized: bool = False,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
        keep_text: bool = True,
        device: str = "cpu",
        precision: PrecisionName = "float32",
        basis: Basis = "similarity",
    ) -> None:
        torch.set_num_threads(1)  # one worker per core; several threads each would only contend
        self.elmo = load(model, device=device, precision=precision, basis=basis)
        mix = parse_selection(layers, self.elmo.num_layers, pool).mix
        if mix is None:
            raise InputError(f"--layers must name one layer or a mix with --ray, got {layers!r}")
        self.mix, self.pool, self.column = mix, pool, column
        self.pretokenized, self.keep_text = pretokenized, keep_text
        self.start, self.batch_tokens = start, batch_tokens

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Add the columns."""
        tokens = [self._tokens(text) for text in batch[self.column].to_pylist()]
        kept = batch if self.keep_text else batch.drop_columns([self.column])
        dim = mixed_dim(self.mix, self.elmo.num_layers, self.elmo.dim)
        if self.pool is not None:
            vectors = self.elmo.pool(
                tokens, self.pool, self.mix, start=self.start, batch_tokens=self.batch_tokens
            )
            return kept.append_column("vector", _fixed_size_lists(vectors, dim))
        arrays = self.elmo.embed(tokens, self.mix, start=self.start, batch_tokens=self.batch_tokens)
        ends = np.cumsum([0, *map(len, tokens)], dtype=np.int32)
        if self.keep_text:
            flat = pa.array([token for sentence in tokens for token in sentence], pa.string())
            kept = kept.append_column("tokens", pa.ListArray.from_arrays(ends, flat))
        rows = np.concatenate([np.zeros((0, dim), dtype=np.float32), *arrays])
        lists = pa.ListArray.from_arrays(ends, _fixed_size_lists(rows, dim))
        return kept.append_column("vectors", lists)

    def _tokens(self, text: Any) -> list[str]:
        if self.pretokenized and isinstance(text, str):
            return text.split()
        return tokens_of(text)


def _fixed_size_lists(vectors: Vectors, dim: int) -> Any:
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dim)


def run_embed_on_ray(
    inputs: Sequence[str],
    out: Path,
    options: EmbedOptions,
    *,
    column: str = "text",
    max_workers: int | None = None,
) -> str:
    """``elmokit embed --ray``: Parquet or text files -> a folder of Parquet files, row by row."""
    _require_possible(options)
    require_start(options.start)
    if options.verify:
        require_intact(options.model)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out}: --ray writes a new folder of Parquet files; choose another name")
    workers = join_cluster(max_workers)
    if options.quiet:
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
    settings: dict[str, Any] = {
        "model": options.model,
        "layers": options.layers or "average",
        "pool": options.pool,
        "column": column,
        "pretokenized": options.pretokenized,
        "start": options.start,
        "batch_tokens": options.batch_tokens,
        "keep_text": options.keep_sentences,
        "device": options.device,
        "precision": options.precision,
        "basis": options.basis,
    }
    EmbedBatches(**settings)  # wrong settings fail here with a clear message, not on a worker
    # Texts are short and vectors costly: by size alone, one worker would get all of a small corpus.
    texts = _read(inputs, column).repartition(target_num_rows_per_block=ROWS_AT_ONCE)
    vectors = texts.map_batches(
        EmbedBatches,
        fn_constructor_kwargs=settings,
        batch_format="pyarrow",
        batch_size=ROWS_AT_ONCE,
        # We limit the workers ourselves and tell Ray that they need no CPU: tasks that read or
        # write files need a whole CPU, and would wait forever if workers occupied all of them.
        num_cpus=0,
        compute=ray.data.ActorPoolStrategy(
            min_size=min(workers, _num_cluster_cpus()), max_size=workers
        ),
    )
    with replacing_folder(out) as aside:
        vectors.write_parquet(str(aside))
        num_rows = sum(pa.parquet.read_metadata(path).num_rows for path in aside.glob("*.parquet"))
    return f"{out}: {num_rows:,} texts, at most {workers} workers"


def join_cluster(max_workers: int | None = None) -> int:
    """Start Ray, or join the cluster of ``RAY_ADDRESS``; return the number of workers to use."""
    if not ray.is_initialized():
        ray.init(logging_level=logging.WARNING, log_to_driver=False)
    return max_workers or max(1, _num_cluster_cpus())


def _num_cluster_cpus() -> int:
    """The number of CPUs of all machines together."""
    cluster: Any = ray  # typed only if Ray is installed
    return int(cluster.cluster_resources().get("CPU", 1))


def _require_possible(options: EmbedOptions) -> None:
    asked = {
        "--protein": options.protein,
        "--bio-embeddings": options.bio_embeddings,
        "--float16": options.float16,
        "--resume": options.resume,
        "--threads": options.num_threads is not None,
    }
    for name, is_set in asked.items():
        if is_set:
            raise InputError(f"{name} cannot be combined with --ray; leave out one of them")


def _read(inputs: Sequence[str], column: str) -> Any:
    """The texts of Parquet files and folders, or the lines of text files."""
    texts_of_lines = [name for name in inputs if name.endswith(TEXT_SUFFIXES)]
    for name in inputs:
        if "://" not in name and name not in texts_of_lines:
            _require_parquet(Path(name))
    if texts_of_lines:
        _require_all_text(inputs, texts_of_lines)
        lines = ray.data.read_text(list(inputs), drop_empty_lines=False)
        return lines if column == "text" else lines.rename_columns({"text": column})
    texts = ray.data.read_parquet(list(inputs))
    names = texts.schema().names
    if column not in names:
        raise InputError(
            f"{inputs[0]}: there is no column {column!r}, only {', '.join(names)}; name the column "
            f"of the text with --column"
        )
    return texts


def _require_all_text(inputs: Sequence[str], texts_of_lines: Sequence[str]) -> None:
    for name in inputs:
        if name not in texts_of_lines:
            raise InputError(
                f"{name}: text files and Parquet cannot be read together; run the command twice"
            )
        if "://" not in name and not Path(name).is_file():
            raise InputError(f"{name}: there is no such file")


def _require_parquet(path: Path) -> None:
    """Reject a local file or folder that ``read_parquet`` could not read."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder")
    if path.is_dir():
        if next(path.rglob("*.parquet"), None) is None:
            raise InputError(
                f"{path}: there is no .parquet file in this folder; give text files by name, as in "
                f"{path}/*.txt"
            )
        return
    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise InputError(
                f"{path}: --ray reads Parquet and {', '.join(TEXT_SUFFIXES)}; convert it first"
            )
