"""RAW TEXT -> A CORPUS ON DISK, with a held-out part split by document.

1. Every core splits blocks of documents into sentences of words; this process numbers the words
   in order of first occurrence and writes the numbers to a temporary file.
2. Documents are assigned to the training or the held-out part by the hash of their text.
3. Words get their final numbers by decreasing count in the training part, and the stream is
   rewritten with them.

Blocks are cut and joined in input order, so that the result depends only on the text and the
settings, not on the number of processes.
"""

import hashlib
import itertools
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from elmokit.config import require
from elmokit.errors import InputError
from elmokit.files import replacing_folder, require_replaceable, write_json
from elmokit.files.checksums import write_checksums
from elmokit.pretrain.corpus.corpus import FORMAT, VERSION, warn_if_few
from elmokit.pretrain.corpus.documents import DocumentReader, Piece, Source, find_sources
from elmokit.pretrain.corpus.lexicon import Ranking, TypeNumbers, rank_types
from elmokit.pretrain.corpus.split_text import BlockSettings, read_blocks
from elmokit.pretrain.corpus.writer import (
    DocumentsWriter,
    NumberedDocuments,
    PartAssignment,
    PartFacts,
    assign_parts,
    count_training_words,
    write_lexicon,
    write_part_files,
)
from elmokit.progress import meter
from elmokit.recipe import to_plain
from elmokit.text.sentences import SentenceSplitter
from elmokit.text.tokenize import TOKENIZER
from elmokit.text.vocabulary import MARKERS, Vocabulary, read_vocabulary
from elmokit.weights.load import load_pretrained

_TRAINING_SAMPLE_BYTES = 4_000_000
"""The size of the beginning of a corpus on which a sentence splitter is trained."""
_MODEL_SUFFIXES = (".zip", ".hdf5", ".h5")
_LIVE_TYPES = 1.5
"""Words kept while reading, as a multiple of the types kept in the end."""


@dataclass(frozen=True)
class PrepareConfig:
    """Everything that shapes a corpus, besides its text and a given vocabulary."""

    vocabulary_size: int = 50_000
    """Number of targets, including the three markers; fewer if the corpus has fewer words."""
    min_count: int = 1
    """Words rarer than this in the training part are not targets."""
    heldout: float | None = None
    """Share of the documents to hold out; None: half a percent, more for small corpora."""
    pretokenized: bool = False
    """Each line is a sentence, its tokens separated by spaces."""
    sentences: Literal["trained", "default", "lines"] = "trained"
    """How raw text is split: by Punkt trained on the text itself, by Punkt with common English
    abbreviations only, or not at all because a line is a sentence."""
    max_types: int = 4_000_000
    """Rarer words become ``<UNK>`` in the input too."""
    max_sentence_tokens: int = 400
    max_token_characters: int = 200
    max_line_bytes: int = 100_000
    max_document_bytes: int = 64_000
    """Longer documents are split into pieces, so that text without blank lines can be split too."""
    shuffle: bool = False
    """Whether to shuffle the documents."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("min_count", "max_sentence_tokens", "max_token_characters"):
            value = getattr(self, name)
            require(value >= 1, f"{name} must be at least 1, got {value}")
        for name in ("max_line_bytes", "max_document_bytes"):
            value = getattr(self, name)
            require(value >= 100, f"{name} must be at least 100, got {value}")
        require(
            self.vocabulary_size > len(MARKERS),
            f"vocabulary_size must be above the {len(MARKERS)} markers, got {self.vocabulary_size}",
        )
        require(
            self.max_types >= self.vocabulary_size,
            f"max_types must be at least vocabulary_size = {self.vocabulary_size}, got "
            f"{self.max_types}",
        )
        require(
            self.heldout is None or 0 <= self.heldout < 1,
            f"heldout must be in [0, 1), got {self.heldout}",
        )


@dataclass(frozen=True)
class PrepareReport:
    """The input, the output, and everything that was lost or changed in between."""

    facts: dict[str, Any]
    """The contents of corpus.json."""
    counts: dict[str, int]
    broken_sources: dict[str, str]
    sources: list[dict[str, Any]]
    seconds: float

    def lines(self) -> Iterator[str]:
        """The report as text; counts of zero are left out."""
        for part in ("train", "heldout"):
            facts = self.facts[part]
            unknown = facts["num_unknown"] / max(facts["num_tokens"], 1)
            yield (
                f"{part}: {facts['num_documents']:,} documents, {facts['num_sentences']:,} "
                f"sentences, {facts['num_tokens']:,} tokens, {unknown:.2%} of them outside the "
                f"vocabulary"
            )
        size, num_types = self.facts["vocabulary_size"], self.facts["num_types"]
        yield (f"vocabulary: {size:,} of {num_types:,} distinct words; {self.seconds:,.0f} seconds")
        for name, number in self.counts.items():
            if number and name in _SAID_AS:
                yield f"{number:,} {_SAID_AS[name]}"
        warning = warn_if_few(self.facts["heldout"]["num_tokens"])
        if warning and self.facts["settings"]["heldout"] != 0:  # 0: nothing was to be held out
            yield warning
        for name, reason in self.broken_sources.items():
            yield f"{name}: broken or unreadable ({reason}); what came before the damage was read"


_SAID_AS = {
    "empty_sources": "empty inputs",
    "invalid_utf8": "invalid UTF-8 sequences replaced by U+FFFD",
    "line_cuts": "cuts of overlong lines",
    "tokens_cut": "overlong tokens cut",
    "sentences_cut": "overlong sentences cut",
    "literal_markers": "tokens spelt like a marker made <UNK>",
    "types_dropped": "rare types dropped, their tokens made <UNK>",
    "vocabulary_duplicates": "words that the given vocabulary lists twice left out",
}


def prepare(
    inputs: Sequence[str | Path],
    out: Path | str,
    config: PrepareConfig | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    num_workers: int | None = None,
    quiet: bool = False,
) -> PrepareReport:
    """Write the corpus ``out`` from files, folders, ``-`` (standard input) or ``hf:NAME``."""
    started = time.monotonic()
    config, out = config or PrepareConfig(), Path(out)
    require_replaceable(out, "corpus.json", "corpus")
    sources = find_sources([str(name) for name in inputs], leave_out=out)
    reader = DocumentReader(sources, config.max_line_bytes, config.max_document_bytes)
    types = TypeNumbers(int(_LIVE_TYPES * config.max_types))
    with replacing_folder(out) as aside:
        numbered, counts = _number_words(
            reader, types, aside / "work", config, num_workers or _num_cores(), quiet
        )
        if not len(numbered.lengths):
            names = ", ".join(source.name for source in sources[:3])
            raise InputError(f"{names}: no words in {len(sources)} input(s); give files with text")
        assignment = assign_parts(numbered, config.heldout, config.seed if config.shuffle else None)
        ranking = rank_types(
            types,
            count_training_words(assignment, types.next_number),
            config.vocabulary_size,
            config.min_count,
            config.max_types,
            vocabulary,
        )
        parts = write_part_files(aside, assignment, ranking)
        write_lexicon(aside / "lexicon", ranking)
        ranking.vocabulary.save(aside / "vocab.txt")
        shutil.rmtree(aside / "work")
        counts += reader.counts
        counts["types_dropped"] = types.num_forgotten + ranking.num_dropped
        if vocabulary is not None:
            counts["vocabulary_duplicates"] = len(vocabulary) - len(ranking.vocabulary)
        facts = _facts(config, reader, ranking, assignment, parts, vocabulary is not None)
        report = PrepareReport(
            facts,
            dict(sorted(counts.items())),
            reader.broken,
            [source._asdict() for source in reader.read],
            round(time.monotonic() - started, 1),
        )
        write_json(aside / "corpus.json", facts)
        write_checksums(aside)  # without the report, which differs from run to run
        write_json(aside / "report.json", to_plain(report))
    return report


def is_file_of_words(name: str) -> bool:
    """Whether a vocabulary is given as a file of words, not as a model."""
    path = Path(name)
    return path.is_file() and path.suffix.lower() not in _MODEL_SUFFIXES


def read_target_vocabulary(name: str) -> Vocabulary:
    """Read a vocabulary from a file, or that of a model by its name or path."""
    if is_file_of_words(name):
        return read_vocabulary(Path(name))
    model = load_pretrained(name)
    if model.output_words is None:
        raise InputError(
            f"{name}: this model has no softmax and therefore no target vocabulary; give a file or "
            f"another model"
        )
    return model.output_words.vocabulary


def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _number_words(
    reader: DocumentReader,
    types: TypeNumbers,
    folder: Path,
    config: PrepareConfig,
    num_workers: int,
    quiet: bool,
) -> tuple[NumberedDocuments, Counter[str]]:
    """Read all documents and number their words in order of first occurrence."""
    pieces = reader.pieces()
    splitter = None
    if not config.pretokenized and config.sentences == "default":
        splitter = SentenceSplitter.default()
    elif not config.pretokenized and config.sentences == "trained":
        sample = list(_take(pieces, _TRAINING_SAMPLE_BYTES))
        pieces = itertools.chain(sample, pieces)
        splitter = SentenceSplitter.train(piece.text.decode(errors="replace") for piece in sample)
        splitter.save(folder.parent / "sentences.json")
    settings = BlockSettings(
        config.pretokenized, splitter, config.max_sentence_tokens, config.max_token_characters
    )
    writer = DocumentsWriter(folder)
    counts: Counter[str] = Counter()
    num_tokens = 0
    total = _total_kilobytes(reader.sources)
    with meter("prepare", "kB", total, quiet) as progress:
        for block in read_blocks(pieces, settings, num_workers):
            writer.add(block, types.add(block))
            counts += block.counts
            num_tokens += len(block.ids)
            num_bytes = reader.counts["bytes"] if total is None else reader.disk_bytes_read
            progress.advance(num_bytes // 1000 - progress.done, f"{num_tokens:,} tokens")
    return writer.close(), counts


def _take(pieces: Iterator[Piece], num_bytes: int) -> Iterator[Piece]:
    taken = 0
    while taken < num_bytes and (piece := next(pieces, None)) is not None:
        taken += len(piece.text)
        yield piece


def _total_kilobytes(sources: Sequence[Source]) -> int | None:
    sizes = [source.disk_bytes for source in sources]
    return None if None in sizes else sum(size or 0 for size in sizes) // 1000


def _facts(
    config: PrepareConfig,
    reader: DocumentReader,
    ranking: Ranking,
    assignment: PartAssignment,
    parts: dict[str, PartFacts],
    has_given_vocabulary: bool,
) -> dict[str, Any]:
    checksum = hashlib.sha256("".join(source.sha256 for source in reader.read).encode())
    return {
        "format": FORMAT,
        "version": VERSION,
        "tokenizer": "pretokenized" if config.pretokenized else TOKENIZER,
        "vocabulary_size": len(ranking.vocabulary),
        "has_given_vocabulary": has_given_vocabulary,
        "num_types": len(ranking.letters),
        "num_letters": sum(map(len, ranking.letters)),
        **{part: facts._asdict() for part, facts in parts.items()},
        "heldout_unit": assignment.unit,
        "kinds": assignment.numbered.kind_names,
        "inputs": {
            "num_sources": len(reader.read),
            "num_bytes": reader.counts["bytes"],
            "sha256": checksum.hexdigest(),
        },
        "settings": to_plain(config),
    }
