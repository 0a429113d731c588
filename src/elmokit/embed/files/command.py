"""The work behind ``elmokit embed`` and ``elmokit convert``: options in, a summary out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import cast

from elmokit.embed.embedder import BATCH_TOKENS, Embedder, Start
from elmokit.embed.files.bio_embeddings import MAPPING, write_bio_embeddings
from elmokit.embed.files.fasta import count_proteins, read_fasta
from elmokit.embed.files.inputs import Item, count_lines, read_sentences
from elmokit.embed.files.resume import embed_resumably
from elmokit.embed.files.to_file import embed_to_file, parse_selection
from elmokit.embed.files.writers import Layout, require_suffix
from elmokit.embed.load import load
from elmokit.embed.pooling import Pooling
from elmokit.embed.verify.stored_files import check_stored
from elmokit.embed.warm_start import settle
from elmokit.errors import InputError
from elmokit.files import require_replaceable
from elmokit.model.kernels.lstm_inference import PrecisionName
from elmokit.progress import meter
from elmokit.text.sources import can_be_read_twice, require_sources
from elmokit.weights.bilm_tf.write import write_bilm_tf
from elmokit.weights.load import load_pretrained
from elmokit.weights.names import DEFAULT_MODEL, ModelName
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import Basis

SETTLING_SENTENCES = 200
"""Sentences of a file used for a warm start; more would hardly change it."""


@dataclass(frozen=True)
class EmbedOptions:
    """See ``elmokit embed --help``."""

    model: str | Path | None = None
    layers: str | None = None
    pretokenized: bool = False
    pool: str | None = None
    float16: bool = False
    start: str = "fresh"
    batch_tokens: int = BATCH_TOKENS
    keep_sentences: bool = True
    protein: bool = False
    bio_embeddings: bool = False
    id_field: int = 1
    split_char: str = "|"
    resume: bool = False
    verify: bool = False
    basis: Basis = "similarity"
    device: str = "cpu"
    precision: str = "float32"
    num_threads: int | None = None
    quiet: bool = False

    def __post_init__(self) -> None:
        if self.start not in ("fresh", "settled"):
            raise InputError(f"--start must be fresh or settled, got {self.start!r}")


def run_embed(inputs: Sequence[str], out: Path, options: EmbedOptions) -> str:
    """Write the vectors of all inputs to ``out``; return a summary line."""
    if options.bio_embeddings:
        return _run_bio_embeddings(inputs, out, options)
    _reject_parquet(inputs)
    require_suffix(out)
    require_sources(inputs)
    if options.resume and not can_be_read_twice(inputs):
        raise InputError(
            "--resume reads its inputs again, but standard input and pipes can be read only once; "
            "write the text to a file"
        )
    elmo = _load_for(options)
    default = "sum" if options.protein else "average"
    selection = parse_selection(
        options.layers or default, elmo.num_layers, cast(Pooling | None, options.pool)
    )
    layout = Layout(
        dtype="float16" if options.float16 else "float32",
        is_pooled=selection.pool is not None,
        keep_sentences=options.keep_sentences and not options.protein,
    )
    if options.protein:
        total, unit = count_proteins(inputs), "proteins"
    else:
        total, unit = count_lines(inputs), "sentences"

    def read_items() -> Iterator[Item]:
        if options.protein:
            return read_fasta(inputs, id_field=options.id_field, split_char=options.split_char)
        return read_sentences(inputs, pretokenized=options.pretokenized)

    start, batch_tokens = cast(Start, options.start), options.batch_tokens
    with meter("embed", unit, total, options.quiet) as progress:
        if options.resume:
            num_tokens = embed_resumably(
                elmo, read_items, out, selection, progress,
                layout=layout, start=start, batch_tokens=batch_tokens,
            )  # fmt: skip
        else:
            num_tokens = embed_to_file(
                elmo, read_items(), out, selection,
                layout=layout, start=start, batch_tokens=batch_tokens, progress=progress,
            )  # fmt: skip
    return f"{out}: {progress.done:,} {unit}, {num_tokens:,} tokens"


def _reject_parquet(inputs: Sequence[str]) -> None:
    for name in inputs:
        if name.endswith(".parquet"):
            raise InputError(
                f"{name}: Parquet files are read with --ray only; add it and give -o a folder, or "
                f"write the column to a text file, one sentence per line"
            )


def require_intact(model: ModelName) -> None:
    """Reject a model whose files differ from their checksums, or that has none."""
    if check_stored(model).num_files is None:
        raise InputError(
            f"--verify: {model or DEFAULT_MODEL} carries no checksums to compare with; a copy made "
            f"with  elmokit convert  has them"
        )


def _load_for(options: EmbedOptions) -> Embedder:
    if options.verify:
        require_intact(options.model)
    elmo = load(
        options.model,
        device=options.device,
        precision=cast(PrecisionName, options.precision),
        num_threads=options.num_threads,
        basis=options.basis,
    )
    if options.protein and "language" in elmo.pretrained.card:
        raise InputError(
            f"--protein: {elmo.name} is a model of {elmo.pretrained.card['language']}, not of "
            f"proteins; give a protein model such as SeqVec with --model"
        )
    return elmo


def _run_bio_embeddings(inputs: Sequence[str], out: Path, options: EmbedOptions) -> str:
    """Write a folder as bio_embeddings did; its layout determines layers and pooling."""
    if not options.protein:
        raise InputError("--bio-embeddings is a layout for proteins: add --protein")
    if options.layers is not None or options.pool is not None:
        raise InputError(
            "--bio-embeddings writes all layers of every residue, and one vector per protein: "
            "leave out --layers and --pool"
        )
    if options.resume:
        raise InputError("--bio-embeddings runs cannot be resumed; leave out --resume")
    require_sources(inputs)
    require_replaceable(out, MAPPING, "embeddings")
    elmo = _load_for(options)
    with meter("embed", "proteins", count_proteins(inputs), options.quiet) as progress:
        num_residues = write_bio_embeddings(
            elmo,
            read_fasta(inputs, id_field=None),
            out,
            dtype="float16" if options.float16 else "float32",
            batch_tokens=options.batch_tokens,
            progress=progress,
        )
    return f"{out}: {progress.done:,} proteins, {num_residues:,} residues"


def run_convert(
    model: str | Path, out: Path, *, to: str | None, float16: bool, settle_on: str | None
) -> str:
    """Write ``model`` to ``out`` in another format; return a summary line.

    ``settle_on``: a file with one sentence per line, or "english" for the built-in sentences.
    """
    if settle_on is not None and settle_on != "english":
        require_sources([settle_on])
    pretrained = load_pretrained(model)
    target = to or ("bilm-tf" if pretrained.format == "native" else "native")
    if target not in ("native", "bilm-tf"):
        raise InputError(f"--format must be native or bilm-tf, got {target!r}")
    if settle_on == "english":
        pretrained.settled = settle(Embedder(pretrained))
    elif settle_on is not None:
        items = islice(read_sentences([settle_on], pretokenized=False), SETTLING_SENTENCES)
        pretrained.settled = settle(Embedder(pretrained), [item.tokens for item in items])
    if target == "native":
        write_native(pretrained, out, "float16" if float16 else "float32")
    elif float16:
        raise InputError("--float16 needs the native format; add --format native")
    else:
        write_bilm_tf(pretrained, out)
        if pretrained.bases:
            return f"{out}: written as {target}; its vectors are those of --basis states"
    return f"{out}: written as {target}"
