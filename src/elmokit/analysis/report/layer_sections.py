"""Sections that analyse the layers of a model, without training task models."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmokit.analysis.encoders.encoder import Encoder
from elmokit.analysis.encoders.opening import Models
from elmokit.analysis.lm.perplexities import PerplexityResult, perplexities, perplexity_table
from elmokit.analysis.output.pictures import Picture
from elmokit.analysis.output.tables import Table, count
from elmokit.analysis.probes.part_of_speech import (
    PosResult,
    part_of_speech_probe,
    pos_picture,
    pos_table,
    read_pos_data,
)
from elmokit.analysis.probes.senses import (
    SensesResult,
    read_sense_data,
    senses_picture,
    senses_table,
    word_senses,
)
from elmokit.analysis.report.commands import elmokit_line, option, repeated
from elmokit.analysis.report.config import ReportConfig
from elmokit.analysis.report.section import Exhibit, Section, lacks, nothing
from elmokit.analysis.words.build_index import index_texts
from elmokit.analysis.words.demo import DemoResult, demo, demo_picture, demo_tables
from elmokit.analysis.words.index import OccurrenceIndex, open_index
from elmokit.analysis.words.neighbours import (
    ContextNeighbours,
    context_neighbours,
    neighbours_tables,
)
from elmokit.analysis.words.sense_map import (
    SenseMap,
    read_occurrences,
    sense_map,
    sense_map_picture,
    sense_map_table,
)
from elmokit.errors import InputError

TABLE_4 = (
    "Chico Ruiz made a spectacular *play* on Alusik's grounder.",
    "Olivia De Havilland signed to do a Broadway *play* for Garson.",
)


def _static(config: ReportConfig) -> Path | None:
    """The path of GloVe, if the data folder has it."""
    folder = config.data / "glove"
    return folder if folder.exists() else None


def _pos_rows(config: ReportConfig) -> list[str]:
    """The encoders of the table: the model, the same untrained, and GloVe if available."""
    static = _static(config)
    names = [config.model_name, f"untrained:{config.model_name}"]
    return names if static is None else [*names, f"static:{static}"]


def _sense_rows(config: ReportConfig) -> list[str]:
    """The same, and the model with carried state (as in the paper) and with the sentence mean."""
    first, *others = _pos_rows(config)
    return [first, f"carried:{first}", f"plus-mean:{first}", *others]


DEMO = Section(
    name="demo",
    title="Two occurrences of a word",
    kind=DemoResult,
    depends_on=(),
    needs=nothing,
    command=lambda config: elmokit_line("demo", *config.model_words),
    compute=lambda config, models, quiet: demo(models.encoder(config.model)),
    show=lambda result: Exhibit(demo_tables(result), lambda: [demo_picture(result)]),
)


def _perplexity(config: ReportConfig, models: Models, quiet: bool) -> PerplexityResult:
    if config.corpus is None:
        raise InputError("perplexity needs a prepared corpus; give one with --corpus")
    return perplexities([config.model], config.corpus, seen=config.seen, quiet=quiet, opened=models)


PERPLEXITY = Section(
    name="perplexity",
    title="Perplexity, beside a 5-gram",
    kind=PerplexityResult,
    depends_on=("corpus", "seen"),
    needs=lambda config: "" if config.corpus else "give a prepared corpus with --corpus",
    command=lambda config: elmokit_line(
        *("analyse", "perplexity", config.model_name, "--corpus", str(config.corpus)),
        *repeated("--seen", config.seen),
    ),
    compute=_perplexity,
    show=lambda result: Exhibit([perplexity_table(result)]),
    needs_softmax=True,
)


def _probe(
    name: str,
    title: str,
    kind: type[Any],
    folder: str,
    limit: str,
    rows: Callable[[ReportConfig], list[str]],
    run: Callable[[list[Encoder], ReportConfig, Path, bool], Any],
    table: Callable[[Any], Table],
    picture: Callable[[Any], Picture],
) -> Section:
    """A section whose table has rows of several encoders.

    ``folder``: the folder of the data; ``limit``: the setting that limits their size; ``run``:
    called with the encoders, the settings, a folder for cached rows, and whether to be quiet.
    """
    flag = f"--{limit.replace('_', '-')}"
    return Section(
        name=name,
        title=title,
        kind=kind,
        depends_on=("data", limit),
        needs=lambda config: lacks(config, folder),
        command=lambda config: elmokit_line(
            *("analyse", name, *rows(config), "--data", config.data / folder),
            *option(flag, getattr(config, limit)),
            *("--picture", f"{name}.png"),
        ),
        compute=lambda config, models, quiet: run(
            models.encoders(rows(config)),
            config,
            config.out / "results" / "encoders",
            quiet,
        ),
        show=lambda result: Exhibit([table(result)], lambda: [picture(result)]),
    )


def _senses(
    encoders: list[Encoder], config: ReportConfig, cache: Path, quiet: bool
) -> SensesResult:
    data = read_sense_data(config.data / "wsd")
    return word_senses(encoders, data, config.semcor_sentences, quiet, cache)


def _pos(encoders: list[Encoder], config: ReportConfig, cache: Path, quiet: bool) -> PosResult:
    data = read_pos_data(config.data / "ewt", config.train_sentences)
    return part_of_speech_probe(encoders, data, quiet, cache)


SENSES = _probe(
    *("senses", "Word senses (Table 5)", SensesResult, "wsd", "semcor_sentences"),
    *(_sense_rows, _senses, senses_table, senses_picture),
)
POS = _probe(
    *("pos", "Part of speech (Table 6)", PosResult, "ewt", "train_sentences"),
    *(_pos_rows, _pos, pos_table, pos_picture),
)


@dataclass(frozen=True)
class Table4Neighbours:
    """The neighbours of both sentences of Table 4."""

    texts: tuple[str, ...]
    num_tokens: int
    """How many tokens of the texts were searched."""
    found: tuple[ContextNeighbours, ...]


def _neighbours(config: ReportConfig, models: Models, quiet: bool) -> Table4Neighbours:
    encoder = models.encoder(config.model)
    index = _index(config, encoder, quiet)
    found = (context_neighbours(index, encoder, s, static=_static(config)) for s in TABLE_4)
    return Table4Neighbours(config.text, index.num_tokens, tuple(found))


def _index(config: ReportConfig, encoder: Encoder, quiet: bool) -> OccurrenceIndex:
    """An index of the top layer, rebuilt unless it was made from this model and these texts."""
    folder, top = config.out / "index", len(encoder.layer_names) - 1
    if not _has_index(folder, config, encoder):
        index_texts(encoder, config.text, folder, [top], config.text_tokens, quiet=quiet)
    return open_index(folder)


def _has_index(folder: Path, config: ReportConfig, encoder: Encoder) -> bool:
    try:
        return open_index(folder).is_of(encoder, config.text, config.text_tokens)
    except InputError:
        return False


def _neighbours_exhibit(result: Table4Neighbours) -> Exhibit:
    names = ", ".join(Path(text).name for text in result.texts)
    note = f"Among the {count(result.num_tokens)} tokens of {names} that were indexed."
    tables = []
    for found in result.found:
        in_context, static = neighbours_tables(found)
        tables += [in_context._replace(note=note), static]
    return Exhibit(tables)


def _neighbours_commands(config: ReportConfig) -> str:
    """The index, then one line per sentence."""
    model = config.model_words
    lines = [
        elmokit_line(
            *("index", *config.text, "--tokens", str(config.text_tokens), *model, "-o", "INDEX")
        )
    ]
    for sentence in TABLE_4:
        words = ("neighbours", "INDEX", sentence, *model, *option("--static", _static(config)))
        lines.append(elmokit_line(*words))
    return "\n".join(lines)


NEIGHBOURS = Section(
    name="neighbours",
    title="Neighbours in context (Table 4)",
    kind=Table4Neighbours,
    depends_on=("text", "text_tokens", "data"),
    needs=lambda config: "" if config.text else "give a text to look in with --text",
    command=_neighbours_commands,
    compute=_neighbours,
    show=_neighbours_exhibit,
)


def _occurrences(config: ReportConfig, models: Models, quiet: bool) -> SenseMap:
    occurrences = read_occurrences(config.data / "wsd", config.word)
    return sense_map(models.encoder(config.model), config.word, occurrences)


OCCURRENCES = Section(
    name="occurrences",
    title="All occurrences of a word",
    kind=SenseMap,
    depends_on=("data", "word"),
    needs=lambda config: lacks(config, "wsd"),
    command=lambda config: elmokit_line(
        *("analyse", "occurrences", config.word, "--data", config.data / "wsd"),
        *(*config.model_words, "--picture", f"senses-of-{config.word}.png"),
    ),
    compute=_occurrences,
    show=lambda result: Exhibit([sense_map_table(result)], lambda: [sense_map_picture(result)]),
)

LAYER_SECTIONS = (DEMO, PERPLEXITY, SENSES, POS, NEIGHBOURS, OCCURRENCES)
