"""Sections that look into the layers of a model: no task model is trained."""

from dataclasses import dataclass
from pathlib import Path

from elmokit.analysis.demo import DemoResult, demo, demo_picture, demo_tables
from elmokit.analysis.encoders import Encoder, open_encoder
from elmokit.analysis.neighbours import ContextNeighbours, context_neighbours, neighbours_tables
from elmokit.analysis.part_of_speech import (
    PosResult,
    part_of_speech_probe,
    pos_picture,
    pos_table,
    read_pos_data,
)
from elmokit.analysis.perplexities import PerplexityResult, perplexities, perplexity_table
from elmokit.analysis.report.commands import elmokit_line, model_option, option, repeated
from elmokit.analysis.report.config import ReportConfig
from elmokit.analysis.report.section import Exhibit, Section, lacks, nothing
from elmokit.analysis.sense_map import (
    SenseMap,
    read_uses,
    sense_map,
    sense_map_picture,
    sense_map_table,
)
from elmokit.analysis.senses import (
    SensesResult,
    read_sense_data,
    senses_picture,
    senses_table,
    word_senses,
)
from elmokit.analysis.tables import count
from elmokit.analysis.use_index import UseIndex, index_texts, open_index
from elmokit.errors import InputError

TABLE_4 = (
    "Chico Ruiz made a spectacular *play* on Alusik's grounder.",
    "Olivia De Havilland signed to do a Broadway *play* for Garson.",
)


def _rows(config: ReportConfig) -> list[str]:
    """The model, the same untrained, and GloVe where the data has it, as a command names them."""
    static = _static(config)
    names = [config.model, f"untrained:{config.model}"]
    return names if static is None else [*names, f"static:{static}"]


def _sense_rows(config: ReportConfig) -> list[str]:
    """The same, and the model reading its sentences as running text, as the paper's did."""
    first, *others = _rows(config)
    return [first, f"carried:{config.model}", *others]


def _static(config: ReportConfig) -> Path | None:
    folder = config.data / "glove"
    return folder if folder.exists() else None


def _encoders(names: list[str]) -> list[Encoder]:
    return [open_encoder(name) for name in names]


def _kept(config: ReportConfig) -> Path:
    """Where the rows of each encoder are kept: a new model costs its own alone."""
    return config.out / "results" / "encoders"


DEMO = Section(
    name="demo",
    title="Two uses of a word",
    kind=DemoResult,
    depends_on=(),
    needs=nothing,
    command=lambda config: elmokit_line("demo", *model_option(config)),
    compute=lambda config, quiet: demo(open_encoder(config.model)),
    show=lambda result: Exhibit(demo_tables(result), lambda: [demo_picture(result)]),
)


def _perplexity(config: ReportConfig, quiet: bool) -> PerplexityResult:
    if config.corpus is None:
        raise InputError("perplexity needs a prepared corpus")
    return perplexities(
        [config.model],
        config.corpus,
        seen=config.seen,
        quiet=quiet,
    )


PERPLEXITY = Section(
    name="perplexity",
    title="Perplexity, beside a 5-gram",
    kind=PerplexityResult,
    depends_on=("corpus", "seen"),
    needs=lambda config: "" if config.corpus else "give a prepared corpus with --corpus",
    command=lambda config: elmokit_line(
        *("analyse", "perplexity", config.model, "--corpus", str(config.corpus)),
        *repeated("--seen", config.seen),
    ),
    compute=_perplexity,
    show=lambda result: Exhibit([perplexity_table(result)]),
)


def _senses(config: ReportConfig, quiet: bool) -> SensesResult:
    data = read_sense_data(config.data / "wsd")
    encoders = _encoders(_sense_rows(config))
    return word_senses(encoders, data, config.semcor_sentences, quiet, _kept(config))


SENSES = Section(
    name="senses",
    title="Word senses (Table 5)",
    kind=SensesResult,
    depends_on=("data", "semcor_sentences"),
    needs=lambda config: lacks(config, "wsd"),
    command=lambda config: elmokit_line(
        *("analyse", "senses", *_sense_rows(config), "--data", config.data / "wsd"),
        *option("--semcor-sentences", config.semcor_sentences),
        *("--picture", "senses.png"),
    ),
    compute=_senses,
    show=lambda result: Exhibit([senses_table(result)], lambda: [senses_picture(result)]),
)


def _pos(config: ReportConfig, quiet: bool) -> PosResult:
    data = read_pos_data(config.data / "ewt", config.train_sentences)
    return part_of_speech_probe(_encoders(_rows(config)), data, quiet, _kept(config))


POS = Section(
    name="pos",
    title="Part of speech (Table 6)",
    kind=PosResult,
    depends_on=("data", "train_sentences"),
    needs=lambda config: lacks(config, "ewt"),
    command=lambda config: elmokit_line(
        *("analyse", "pos", *_rows(config), "--data", config.data / "ewt"),
        *option("--train-sentences", config.train_sentences),
        *("--picture", "part-of-speech.png"),
    ),
    compute=_pos,
    show=lambda result: Exhibit([pos_table(result)], lambda: [pos_picture(result)]),
)


@dataclass(frozen=True)
class Neighbours:
    """Of the two sentences of Table 4."""

    texts: tuple[str, ...]
    num_tokens: int
    """Of the texts that were looked at."""
    found: tuple[ContextNeighbours, ...]


def _neighbours(config: ReportConfig, quiet: bool) -> Neighbours:
    encoder = open_encoder(config.model)
    index = _index(config, encoder, quiet)
    found = (context_neighbours(index, encoder, s, static=_static(config)) for s in TABLE_4)
    return Neighbours(config.text, index.num_tokens, tuple(found))


def _index(config: ReportConfig, encoder: Encoder, quiet: bool) -> UseIndex:
    """Of the top layer; made again unless it is of this model and these texts."""
    folder, top = config.out / "index", len(encoder.layer_names) - 1
    if not _has_index(folder, config, encoder):
        index_texts(encoder, config.text, folder, [top], config.text_tokens, quiet=quiet)
    return open_index(folder)


def _has_index(folder: Path, config: ReportConfig, encoder: Encoder) -> bool:
    try:
        return open_index(folder).is_of(encoder, config.text, config.text_tokens)
    except InputError:
        return False


def _neighbours_exhibit(result: Neighbours) -> Exhibit:
    names = ", ".join(Path(text).name for text in result.texts)
    note = f"Among the {count(result.num_tokens)} tokens of {names} that were indexed."
    tables = []
    for found in result.found:
        in_context, static = neighbours_tables(found)
        tables += [in_context._replace(note=note), static]
    return Exhibit(tables)


def _neighbours_commands(config: ReportConfig) -> str:
    """The index, then a line a sentence."""
    model = model_option(config)
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
    kind=Neighbours,
    depends_on=("text", "text_tokens", "data"),
    needs=lambda config: "" if config.text else "give a text to look in with --text",
    command=_neighbours_commands,
    compute=_neighbours,
    show=_neighbours_exhibit,
)


def _uses(config: ReportConfig, quiet: bool) -> SenseMap:
    uses = read_uses(config.data / "wsd", config.word)
    return sense_map(open_encoder(config.model), config.word, uses)


USES = Section(
    name="uses",
    title="All uses of a word",
    kind=SenseMap,
    depends_on=("data", "word"),
    needs=lambda config: lacks(config, "wsd"),
    command=lambda config: elmokit_line(
        *("analyse", "uses", config.word, "--data", config.data / "wsd", *model_option(config)),
        *("-o", f"senses-of-{config.word}.png"),
    ),
    compute=_uses,
    show=lambda result: Exhibit([sense_map_table(result)], lambda: [sense_map_picture(result)]),
)

LAYER_SECTIONS = (DEMO, PERPLEXITY, SENSES, POS, NEIGHBOURS, USES)
