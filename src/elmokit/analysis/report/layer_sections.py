"""Sections that look into the layers of a model: no task model is trained."""

from dataclasses import dataclass

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
from elmokit.analysis.report.config import ReportConfig
from elmokit.analysis.report.section import (
    Exhibit,
    Section,
    lacks,
    model_option,
    nothing,
    option,
)
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
from elmokit.analysis.texts import read_sentences
from elmokit.analysis.use_index import build_index, open_index
from elmokit.errors import InputError

TABLE_4 = (
    "Chico Ruiz made a spectacular *play* on Alusik's grounder.",
    "Olivia De Havilland signed to do a Broadway *play* for Garson.",
)


def _encoders(config: ReportConfig) -> list[Encoder]:
    """The model, the same untrained, and GloVe where the data has it."""
    names = [config.model, f"untrained:{config.model}"]
    if (config.data / "glove").exists():
        names.append(f"static:{config.data / 'glove'}")
    return [open_encoder(name) for name in names]


def _rows(config: ReportConfig) -> str:
    """The same, as a command is told of them."""
    static = f" static:{config.data / 'glove'}" if (config.data / "glove").exists() else ""
    return f"{config.model or repr('')} untrained:{config.model}{static}"


DEMO = Section(
    name="demo",
    title="Two uses of a word",
    kind=DemoResult,
    depends_on=(),
    needs=nothing,
    command=lambda config: f"elmokit demo{model_option(config)}",
    compute=lambda config, quiet: demo(open_encoder(config.model)),
    show=lambda result: Exhibit(demo_tables(result), lambda: [demo_picture(result)]),
)


def _perplexity(config: ReportConfig, quiet: bool) -> PerplexityResult:
    if config.corpus is None:
        raise InputError("perplexity needs a prepared corpus")
    return perplexities(
        [config.model],
        config.corpus,
        train_tokens=config.train_tokens,
        lanes=config.lanes,
        quiet=quiet,
    )


PERPLEXITY = Section(
    name="perplexity",
    title="Perplexity, beside a 5-gram",
    kind=PerplexityResult,
    depends_on=("corpus", "train_tokens", "lanes"),
    needs=lambda config: "" if config.corpus else "give a prepared corpus with --corpus",
    command=lambda config: (
        f"elmokit analyse perplexity {config.model or repr('')} --corpus {config.corpus}"
        + option("--train-tokens", config.train_tokens)
        + option("--lanes", config.lanes if config.lanes > 1 else None)
    ),
    compute=_perplexity,
    show=lambda result: Exhibit([perplexity_table(result)]),
)


def _senses(config: ReportConfig, quiet: bool) -> SensesResult:
    data = read_sense_data(config.data / "wsd")
    return word_senses(_encoders(config), data, config.semcor_sentences, quiet)


SENSES = Section(
    name="senses",
    title="Word senses (Table 5)",
    kind=SensesResult,
    depends_on=("data", "semcor_sentences"),
    needs=lambda config: lacks(config, "wsd"),
    command=lambda config: (
        f"elmokit analyse senses {_rows(config)} --data {config.data / 'wsd'}"
        + option("--semcor-sentences", config.semcor_sentences)
    ),
    compute=_senses,
    show=lambda result: Exhibit([senses_table(result)], lambda: [senses_picture(result)]),
)


def _pos(config: ReportConfig, quiet: bool) -> PosResult:
    data = read_pos_data(config.data / "ewt", config.train_sentences)
    return part_of_speech_probe(_encoders(config), data, quiet)


POS = Section(
    name="pos",
    title="Part of speech (Table 6)",
    kind=PosResult,
    depends_on=("data", "train_sentences"),
    needs=lambda config: lacks(config, "ewt"),
    command=lambda config: (
        f"elmokit analyse pos {_rows(config)} --data {config.data / 'ewt'}"
        + option("--train-sentences", config.train_sentences)
    ),
    compute=_pos,
    show=lambda result: Exhibit([pos_table(result)], lambda: [pos_picture(result)]),
)


@dataclass(frozen=True)
class Neighbours:
    """Of the two sentences of Table 4."""

    num_tokens: int
    found: tuple[ContextNeighbours, ...]


def _neighbours(config: ReportConfig, quiet: bool) -> Neighbours:
    encoder, folder = open_encoder(config.model), config.out / "index"
    if not (folder / "index.json").exists():
        build_index(encoder, read_sentences(config.text), folder, quiet=quiet)
    index = open_index(folder)
    static = config.data / "glove"
    found = (
        context_neighbours(index, encoder, s, static=static if static.exists() else None)
        for s in TABLE_4
    )
    return Neighbours(index.num_tokens, tuple(found))


NEIGHBOURS = Section(
    name="neighbours",
    title="Neighbours in context (Table 4)",
    kind=Neighbours,
    depends_on=("text", "data"),
    needs=lambda config: "" if config.text else "give a text to look in with --text",
    command=lambda config: (
        f"elmokit index TEXT -o INDEX{model_option(config)}; "
        f'elmokit neighbours INDEX "{TABLE_4[0]}"{model_option(config)}'
    ),
    compute=_neighbours,
    show=lambda result: Exhibit(
        [table for found in result.found for table in neighbours_tables(found)]
    ),
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
    command=lambda config: (
        f"elmokit analyse uses {config.word} --data {config.data / 'wsd'}"
        f"{model_option(config)} -o PICTURE.png"
    ),
    compute=_uses,
    show=lambda result: Exhibit([sense_map_table(result)], lambda: [sense_map_picture(result)]),
)

LAYER_SECTIONS = (DEMO, PERPLEXITY, SENSES, POS, NEIGHBOURS, USES)
