"""What ``elmokit change`` writes: a folder of tables, answers in SemEval's format, and pages.

OUT/change.tsv, change.json, change.svg
    answer/task1/LANGUAGE.txt   WORD<TAB>0 or 1: has it changed (q < 0.05)?
    answer/task2/LANGUAGE.txt   WORD<TAB>SCORE: how much
    left-out.tsv                targets that are too rare in one of the corpora, with their counts
    uses.csv                    the occurrences compared, as DURel and WUG have them
    index.html, words/*.html    the ranking, and a page for each of the first words
"""

import html
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from elmokit.analysis.output.pictures import Picture, scatter_points, write_pictures
from elmokit.analysis.output.tables import Table, count
from elmokit.analysis.semantic_change.compare import ChangeResult, WordChange
from elmokit.analysis.words.occurrences import Occurrence
from elmokit.analysis.words.substitutes_table import unknown_note
from elmokit.analysis.words.wug import Usage, write_uses
from elmokit.figures import can_draw
from elmokit.files import replacing_folder, require_replaceable, write_json
from elmokit.pretrain.substitutes import SubstituteReader
from elmokit.text.tokenize import words

MARK = "change.tsv"
"""The file that identifies a folder written by this module."""
FALSE_DISCOVERIES = 0.05
HEADER = (
    "word", "count_1", "count_2", "compared", "apd", "apd_low", "apd_high", "apd_floor", "prt",
    "prt_floor", "mean", "jsd", "excess", "clusters", "p", "q", "adjusted_score",
)  # fmt: skip
TABLE_HEADER = (
    "word", "counts", "excess", "APD", "95 % interval", "floor", "PRT", "floor", "mean", "JSD",
    "p", "q",
)  # fmt: skip
MOST_LISTED = 50
"""The largest number of words that were left out to list below the table; left-out.tsv has all."""
NUM_LINES = 15
"""Lines of the concordance of each corpus on a word's page."""
LINE_WIDTH = 60
"""Characters of a line on each side of the word."""
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em }
table { border-collapse: collapse } td, th { padding: .2em .8em .2em 0; text-align: left }
td.left { text-align: right } td.word { font-weight: bold; text-align: center }
.concordance td { white-space: nowrap; font-size: .9em } .concordance td.left { width: 32em }
"""


def change_table(result: ChangeResult, top: int = 20) -> Table:
    """The most changed words."""
    rows = tuple(
        (
            row.word,
            f"{count(row.counts[0])} / {count(row.counts[1])}",
            f"{row.evidence.excess:z.3f}",
            f"{row.evidence.distances.apd:z.3f}",
            f"{row.evidence.interval[0]:z.3f} to {row.evidence.interval[1]:z.3f}",
            f"{row.evidence.floor.apd:z.3f}",
            f"{row.evidence.distances.prt:z.3f}",
            f"{row.evidence.floor.prt:z.3f}",
            f"{row.evidence.distances.mean:z.3f}",
            f"{row.evidence.jsd:z.3f}",
            f"{row.evidence.p_value:z.3f}",
            f"{row.q_value:z.3f}",
        )
        for row in result.words[:top]
    )
    return Table(
        f"Change of use between {result.names[0]} and {result.names[1]} "
        f"({result.encoder}, {result.layer})",
        TABLE_HEADER,
        rows,
        _note(result),
    )


def _note(result: ChangeResult) -> str:
    """How many words changed, how they are ranked, and which were left out."""
    changed = sum(row.q_value < FALSE_DISCOVERIES for row in result.words)
    note = (
        f"{count(len(result.words))} words compared, {count(changed)} of them changed at a false "
        f"discovery rate of {FALSE_DISCOVERIES:.0%}. Spearman of {result.measure} with frequency: "
        f"{result.score_and_frequency:.2f}. The floor is the same measure between halves of one "
        f"corpus; the excess is APD above it. Ranked by {result.measure}."
    )
    rare = [word for word in result.too_rare if word not in set(result.absent)]
    if rare:
        note += f" Too rare in one of the corpora, left out: {_listed(rare)}."
    if result.absent:
        note += f" Absent from one of the corpora, left out: {_listed(result.absent)}."
    return note


def _listed(left_out: Sequence[str]) -> str:
    """Words that were left out; those that are not one token are shown with their tokens."""
    tokens = {word: words(word) for word in left_out[:MOST_LISTED]}
    shown = [
        word if len(tokens[word]) < 2 else f"{word} ({' + '.join(tokens[word])})" for word in tokens
    ]
    more = len(left_out) - len(shown)
    return ", ".join(shown) + (f" and {count(more)} more" if more else "")


def change_picture(result: ChangeResult) -> Picture:
    """APD against its floor, one point per word; the words furthest above it are labelled."""
    points = [(row.evidence.floor.apd, row.evidence.distances.apd) for row in result.words]
    named = sorted(result.words, key=lambda row: -row.evidence.excess)[:15]
    return scatter_points(
        "change",
        f"Change of use between {result.names[0]} and {result.names[1]}, {result.layer}",
        points,
        [row.word for row in result.words],
        {row.word for row in named},
        "APD within a corpus (floor)",
        "APD between the corpora",
    )


def write_change(
    result: ChangeResult,
    out: Path,
    reader: SubstituteReader | None,
    num_pages: int = 50,
    language: str = "english",
) -> None:
    """Write the folder; ``reader`` finds the substitutes for the pages; None leaves them out."""
    require_replaceable(out, MARK, "change")
    with replacing_folder(out) as aside:
        _write_lines(aside / MARK, ["\t".join(HEADER), *map(_cells, result.words)])
        plain = result.plain()
        for row in plain["words"]:
            del row["occurrences"], row["usages"]  # they are in uses.csv
        write_json(aside / "change.json", plain)
        by_name = sorted(result.words, key=lambda row: row.word)
        graded = (f"{row.word}\t{row.evidence.score(result.measure):z.6f}" for row in by_name)
        for task, lines in (("task1", map(_binary, by_name)), ("task2", graded)):
            (aside / "answer" / task).mkdir(parents=True)
            _write_lines(aside / "answer" / task / f"{language}.txt", lines)
        rare = zip(result.too_rare, result.too_rare_counts, strict=True)
        left_out = [f"{word}\t{one}\t{other}" for word, (one, other) in rare]
        _write_lines(aside / "left-out.tsv", ["\t".join(HEADER[:3]), *left_out])
        write_uses(aside / "uses.csv", _usages(result))
        if can_draw():
            write_pictures([change_picture(result)], aside)
        (aside / "words").mkdir()
        shown = result.words[:num_pages]
        for number, row in enumerate(shown):
            page = _word_page(row, result, reader)
            (aside / "words" / f"{number + 1}.html").write_text(page, encoding="utf-8")
        (aside / "index.html").write_text(_index_page(result, len(shown)), encoding="utf-8")


def _cells(row: WordChange) -> str:
    found = row.evidence
    numbers = (
        found.distances.apd, *found.interval, found.floor.apd, found.distances.prt,
        found.floor.prt, found.distances.mean, found.jsd, found.excess,
    )  # fmt: skip
    shown = [f"{value:z.6f}" for value in numbers]
    rest = [
        str(found.num_clusters),
        f"{found.p_value:.4f}",
        f"{row.q_value:.4f}",
        "NA" if math.isnan(row.adjusted_score) else f"{row.adjusted_score:z.6f}",
    ]
    return "\t".join([row.word, *map(str, row.counts), str(row.num_compared), *shown, *rest])


def _binary(row: WordChange) -> str:
    return f"{row.word}\t{int(row.q_value < FALSE_DISCOVERIES)}"


def _usages(result: ChangeResult) -> Iterator[Usage]:
    for row in result.words:
        if row.usages is not None:
            yield from (usage for side in row.usages for usage in side)
            continue
        for side, occurrences in enumerate(row.occurrences, start=1):
            for number, occurrence in enumerate(occurrences):
                yield Usage(row.word, str(side), f"{row.word}-{side}-{number}", occurrence)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def _word_page(row: WordChange, result: ChangeResult, reader: SubstituteReader | None) -> str:
    found = row.evidence
    clusters = "1 cluster" if found.num_clusters == 1 else f"{found.num_clusters} clusters"
    parts = [
        '<p><a href="../index.html">All words</a></p>',
        f"<h1>{html.escape(row.word)}</h1>",
        f"<p>{row.num_compared} occurrences from each corpus ({row.counts[0]:,} and "
        f"{row.counts[1]:,} in all). Excess {found.excess:z.3f}: APD "
        f"{found.distances.apd:z.3f} (95 % interval {found.interval[0]:z.3f} to "
        f"{found.interval[1]:z.3f}; within a corpus {found.floor.apd:z.3f}), PRT "
        f"{found.distances.prt:z.3f} (within a corpus {found.floor.prt:z.3f}), JSD "
        f"{found.jsd:z.3f} over {clusters}, p = {found.p_value:z.3f}, q = {row.q_value:z.3f}.</p>",
    ]
    substitutes: list[list[str]] = [[], []]
    if reader is not None:
        groups = [[(each.tokens, each.place) for each in side] for side in row.occurrences]
        substitutes = reader.typical(groups)
        forms = {each.word for side in row.occurrences for each in side}
        if not any(map(reader.knows, forms)):
            parts.append(f"<p>{html.escape(unknown_note(row.word))}</p>")
    for name, occurrences, named in zip(result.names, row.occurrences, substitutes, strict=True):
        parts.append(f"<h2>{html.escape(name)}</h2>")
        if named:
            parts.append(f"<p>Substitutes: {html.escape(', '.join(named))}</p>")
        parts.append('<table class="concordance">')
        parts += concordance(occurrences)
        parts.append("</table>")
    return _page(row.word, "\n".join(parts))


def concordance(occurrences: Sequence[Occurrence]) -> list[str]:
    """Rows of an HTML table: at most ``NUM_LINES`` occurrences, from all parts of the corpus."""
    number = min(NUM_LINES, len(occurrences))
    chosen = [occurrences[row * len(occurrences) // number] for row in range(number)]
    return [_concordance_line(each) for each in chosen]


def _concordance_line(occurrence: Occurrence) -> str:
    left, right = occurrence.tokens[: occurrence.place], occurrence.tokens[occurrence.place + 1 :]
    before = " ".join(reversed(_within_width(left[::-1])))
    cells = (("left", before), ("word", occurrence.word), ("right", " ".join(_within_width(right))))
    inside = "".join(f'<td class="{name}">{html.escape(text)}</td>' for name, text in cells)
    return f"<tr>{inside}</tr>"


def _within_width(tokens: Sequence[str]) -> list[str]:
    """The first tokens that fit into ``LINE_WIDTH``, and an ellipsis if there are more.

    >>> _within_width(["a" * 40, "b" * 15, "c" * 10])[1:]
    ['bbbbbbbbbbbbbbb', '…']
    """
    room = LINE_WIDTH
    kept: list[str] = []
    for token in tokens:
        room -= len(token) + 1
        if room < 0:
            return [*kept, "…"]
        kept.append(token)
    return kept


def _index_page(result: ChangeResult, num_pages: int) -> str:
    title = f"Change of use between {result.names[0]} and {result.names[1]}"
    parts = [f"<h1>{html.escape(title)}</h1>"]
    if can_draw():
        parts.append('<img src="change.svg" alt="APD between the corpora over APD within each">')
    parts.append(f"<p>{html.escape(_note(result))}</p>")
    parts.append(
        "<table><tr><th>word</th><th>counts</th><th>excess</th><th>APD</th><th>PRT</th><th>JSD</th>"
        "<th>q</th></tr>"
    )
    for number, row in enumerate(result.words, start=1):
        word = html.escape(row.word)
        link = f'<a href="words/{number}.html">{word}</a>' if number <= num_pages else word
        found = row.evidence
        parts.append(
            f"<tr><td>{link}</td><td>{row.counts[0]:,} / {row.counts[1]:,}</td>"
            f"<td>{found.excess:z.3f}</td><td>{found.distances.apd:z.3f}</td>"
            f"<td>{found.distances.prt:z.3f}</td><td>{found.jsd:z.3f}</td>"
            f"<td>{row.q_value:z.3f}</td></tr>"
        )
    parts.append("</table>")
    return _page(title, "\n".join(parts))


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{html.escape(title)}'
        f"</title>\n<style>{STYLE}</style>\n<body>\n{body}\n</body></html>\n"
    )
