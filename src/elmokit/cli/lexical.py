"""Commands on words as a language model sees them: surprisal, substitutes, senses, change."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from elmokit.cli import WORDS, app
from elmokit.cli.analyse import Encoders, analyse
from elmokit.cli.model_first import ModelOption, model_and_text, model_and_texts
from elmokit.cli.options import Compute, Model, Output, Picture, Pretokenized, Tables, with_groups
from elmokit.errors import InputError
from elmokit.weights.names import DEFAULT_MODEL

LAYER_HELP = "A layer's number, lstm (the mean of the LSTM layers) or all (of all layers)."


@app.command(rich_help_panel=WORDS)
@with_groups
def surprisal(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] TEXT",
            help="Text files, plain or compressed; - is standard input. A blank line ends a "
            "document. A model before them needs a softmax.",
        ),
    ],
    model: ModelOption = None,
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Table to write (.tsv); default: standard output.")
    ] = Path("-"),
    start: Annotated[
        Literal["fresh", "carried"],
        typer.Option(help="fresh: every sentence alone; carried: documents read as running text."),
    ] = "fresh",
    by_word: Annotated[
        bool,
        typer.Option("--words", help="One row per word (between spaces) instead of one per token."),
    ] = False,
    pretokenized: Pretokenized = False,
    unknown: Annotated[
        bool,
        typer.Option(
            "--unknown", help="Give words outside the vocabulary the surprisal of <UNK>, not NA."
        ),
    ] = False,
    ends: Annotated[
        bool, typer.Option("--ends", help="Add a row for the end of every sentence.")
    ] = False,
    frequencies: Annotated[
        Path | None,
        typer.Option(
            help="Counts for the column frequency (per million words): a corpus made by `elmokit "
            "prepare`, or a file of lines WORD<TAB>COUNT."
        ),
    ] = None,
    picture: Picture = None,
    *,
    compute: Compute,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress.")] = False,
) -> None:
    """Measure the surprisal of every token: forward, backward and combined, in bits.

    Each row also has the entropy of the prediction and the rank of the token. The full softmax is
    used, so the sums agree with `elmokit perplexity`.
    """
    from elmokit.analysis.lm.surprisal_picture import draw_surprisal
    from elmokit.analysis.output.pictures import write_picture
    from elmokit.analysis.output.results import say_written
    from elmokit.pretrain.surprisal.frequencies import read_frequencies
    from elmokit.pretrain.surprisal.to_file import SurprisalOptions, surprisal_to_file
    from elmokit.text.sources import can_be_read_twice, require_sources

    name, texts = model_and_texts(words, model)
    require_sources(texts)
    if picture is not None and not can_be_read_twice(texts):
        raise InputError("--picture reads the text again: give a file, not a pipe")
    counts = read_frequencies(frequencies) if frequencies else None
    options = SurprisalOptions(start, pretokenized, by_word, unknown, ends, counts, quiet)
    loaded = compute.language_model(name)
    summary = surprisal_to_file(loaded, texts, out, options)
    typer.echo(str(summary) if out == Path("-") else f"{out}: {summary}", err=True)
    if picture is not None:
        write_picture(draw_surprisal(loaded, texts, options), picture)
        say_written(picture)


@app.command(rich_help_panel=WORDS)
@with_groups
def substitutes(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] SENTENCE",
            help="A sentence with one word marked: 'The *bank* raised its rates.' A model before "
            "it needs a softmax.",
        ),
    ],
    model: ModelOption = None,
    top: Annotated[int, typer.Option("-n", "--top", min=1, help="Number of words to list.")] = 10,
    *,
    output: Output,
    compute: Compute,
) -> None:
    """List words that could replace a word, with and without the word itself as evidence."""
    from elmokit.analysis.words.occurrences import find_marked
    from elmokit.analysis.words.substitutes_table import substitutes_picture, substitutes_table
    from elmokit.pretrain.substitutes import substitutes as run

    name, sentence = model_and_text(words, model, "SENTENCE")
    occurrence = find_marked(sentence)
    result = run(compute.language_model(name), occurrence.tokens, occurrence.place, top)
    output.present(result, [substitutes_table(result)], lambda: substitutes_picture(result))


@app.command(rich_help_panel=WORDS)
@with_groups
def senses(
    word: Annotated[str, typer.Argument(metavar="WORD", help="A word form, in any case.")],
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT",
            help="Files or folders of text, indexes made by `elmokit index`; or a DURel file of "
            "usages (uses.csv), or a folder of them.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder for tables, picture, DURel files.")
    ] = None,
    model: Model = DEFAULT_MODEL,
    layer: Annotated[str, typer.Option(help=LAYER_HELP)] = "lstm",
    number: Annotated[
        int | None, typer.Option(min=1, help="Number of senses. Default: chosen by --criterion.")
    ] = None,
    max_senses: Annotated[int, typer.Option(min=1, help="Largest number of senses to try.")] = 6,
    criterion: Annotated[
        Literal["bic", "silhouette"], typer.Option(help="How the number of senses is chosen.")
    ] = "bic",
    limit: Annotated[
        int, typer.Option(min=10, help="Cluster at most this many occurrences, sampled.")
    ] = 500,
    pretokenized: Pretokenized = False,
    clusters: Annotated[
        Path | None,
        typer.Option(help="Clusters of annotators (clusters.csv) to compare DURel usages with."),
    ] = None,
    *,
    output: Tables,
    compute: Compute,
) -> None:
    """Induce the senses of a word from its occurrences: clusters, their substitutes, examples."""
    from elmokit.analysis.output.results import say_written
    from elmokit.analysis.sense_induction.induce import (
        MARK,
        compare_with_annotators,
        find_occurrences,
        induce_senses,
        senses_tables,
        write_senses,
    )
    from elmokit.files import require_replaceable

    if out is not None:
        require_replaceable(out, MARK, "senses")
    elmo = compute.models(need_softmax=True).embedder(model)
    sample = find_occurrences(word, sources, limit, pretokenized)
    result = induce_senses(elmo, word, sample, layer, number, max_senses, criterion)
    if clusters is not None:
        result = compare_with_annotators(result, clusters)
    if out is not None:
        write_senses(result, out)
        say_written(out)
    output.present(result.plain(), senses_tables(result))


@app.command(rich_help_panel=WORDS)
@with_groups
def change(
    first: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS1", help="A file or folder of text; or DURel usages with two groupings."
        ),
    ],
    second: Annotated[
        str | None, typer.Argument(metavar="CORPUS2", help="The text to compare it with.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Folder for tables, answers, pages and DURel files."),
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(help="Words to compare, one per line. Default: all frequent ones."),
    ] = None,
    model: Model = DEFAULT_MODEL,
    layer: Annotated[str, typer.Option(help=LAYER_HELP)] = "lstm",
    measure: Annotated[
        Literal["excess", "apd", "prt", "mean", "jsd"],
        typer.Option(help="Measure that ranks the words; excess: APD minus that of random halves."),
    ] = "excess",
    min_count: Annotated[
        int, typer.Option(min=10, help="Without targets: minimum frequency in both corpora.")
    ] = 50,
    limit: Annotated[
        int, typer.Option(min=10, help="Maximum occurrences of a word from each corpus.")
    ] = 100,
    tokens: Annotated[
        int | None, typer.Option(min=1, help="Read at most this many tokens of each corpus.")
    ] = None,
    pages: Annotated[int, typer.Option(min=0, help="Number of word pages to write.")] = 50,
    language: Annotated[
        str, typer.Option(help="Language, as in the names of the answer files.")
    ] = "english",
    top: Annotated[int, typer.Option("-n", "--top", min=1, help="Number of words to print.")] = 20,
    pretokenized: Pretokenized = False,
    *,
    output: Tables,
    compute: Compute,
) -> None:
    """Measure how much the use of each word differs between two corpora (semantic change)."""
    from elmokit.analysis.encoders.bilm import BiLmEncoder
    from elmokit.analysis.output.results import say_written
    from elmokit.analysis.semantic_change.compare import (
        read_targets,
        sample_corpora,
        samples_of_usages,
        word_change,
    )
    from elmokit.analysis.semantic_change.output import MARK, change_table, write_change
    from elmokit.analysis.words.texts import corpus_of
    from elmokit.files import require_replaceable
    from elmokit.pretrain.substitutes import SubstituteReader

    if out is not None:
        require_replaceable(out, MARK, "change")
    words = read_targets(targets) if targets else None
    if second is None:
        samples, names = samples_of_usages(Path(first), limit, words)
    else:
        one, other = (corpus_of(text, pretokenized, tokens) for text in (first, second))
        samples = sample_corpora(one, other, words, min_count, limit)
        names = (Path(first).stem, Path(second).stem)
    elmo = compute.models(need_softmax=True).embedder(model)
    result = word_change(BiLmEncoder(elmo), samples, names, layer, measure)
    if out is not None:
        reader = SubstituteReader(elmo) if elmo.pretrained.output_words is not None else None
        write_change(result, out, reader, pages, language)
        say_written(out)
    output.present(result.plain(), [change_table(result, top)])


Wsd = Annotated[Path, typer.Option(help="Folder with semcor30 and wordnet30.")]
HalfOption = Annotated[
    Literal["dev", "test"],
    typer.Option(help="Half of the data; settings were chosen on dev."),
]


@analyse.command()
@with_groups
def induction(
    models: Encoders = None,
    *,
    data: Wsd,
    half: HalfOption = "test",
    lemmas: Annotated[
        int | None, typer.Option(min=1, help="Use fewer lemmas, for a quick result.")
    ] = None,
    output: Output,
    compute: Compute,
) -> None:
    """Score induced senses against SemCor's: adjusted Rand index and V-measure, layer by layer."""
    from elmokit.analysis.probes.sense_separation import read_separation_data
    from elmokit.analysis.sense_induction.semcor import (
        induction_picture,
        induction_table,
        score_induction,
    )

    encoders = compute.models().encoders(models or [DEFAULT_MODEL])
    result = score_induction(encoders, read_separation_data(data), half, lemmas)
    table = induction_table(result)
    output.present(result, [table], lambda: induction_picture(result))


@analyse.command("substitutes")
@with_groups
def score_substitutes(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Name or path of a model.")
    ] = DEFAULT_MODEL,
    *,
    data: Wsd,
    half: HalfOption = "test",
    instances: Annotated[int, typer.Option(min=1, help="Maximum number of words.")] = 1000,
    output: Tables,
    compute: Compute,
) -> None:
    """Score substitutes: how often WordNet's synonyms of a word's sense are among the first."""
    from elmokit.analysis.probes.sense_separation import read_separation_data
    from elmokit.analysis.sense_induction.synonyms import (
        read_synonyms,
        score_synonyms,
        synonyms_table,
    )

    semcor = read_separation_data(data)
    synonyms = read_synonyms(data / "wordnet30" / "index.sense")
    elmo = compute.models(need_softmax=True).embedder(model)
    result = score_synonyms(elmo, semcor, synonyms, half, instances)
    output.present(result, [synonyms_table(result)])


@analyse.command("pseudo-change")
@with_groups
def pseudo_change(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A file or folder of text.")],
    model: Model = DEFAULT_MODEL,
    words: Annotated[int, typer.Option(min=3, help="Number of pseudo-words.")] = 40,
    occurrences: Annotated[int, typer.Option(min=10, help="Occurrences per word and half.")] = 30,
    tokens: Annotated[int, typer.Option(min=1, help="Maximum tokens to read.")] = 1_000_000,
    *,
    output: Output,
    compute: Compute,
) -> None:
    """Score measures of change on known changes: two words merged in known proportions."""
    from elmokit.analysis.semantic_change.pseudo_change import (
        pseudo_change_picture,
        pseudo_change_table,
        score_pseudo_change,
    )
    from elmokit.analysis.words.texts import corpus_of

    corpus = corpus_of(text, False, tokens)
    result = score_pseudo_change(compute.encoder(model), corpus(), words, occurrences)
    table = pseudo_change_table(result)
    output.present(result, [table], lambda: pseudo_change_picture(result))
