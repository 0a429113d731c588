from pathlib import Path

import pytest

from elmokit.errors import InputError
from elmokit.tasks.data.coreference import (
    CorefDocument,
    parse_documents,
    read_coreference,
    without_singletons,
)

CONLL_2012 = """\
#begin document (nw/x); part 001
nw/x\t1\t0\tAnn\t_\t_\t(0)|(1
nw/x\t1\t1\tBell\t_\t_\t1)
nw/x\t1\t2\tsaw\t_\t_\t-

nw/x\t1\t0\ther\t_\t_\t(1)
nw/x\t1\t1\tdog\t_\t_\t
#end document
#begin document (nw/y); part 000
nw/y   0   0   Hush   _   _   -
#end document
"""
ONTOGUM = """\
# begin document
0\tMecca\t(2(1
1\t's\t1)
2\tmosque\t2)
3\t.\t_
4\tIt\t(2)
5\tstands\t_
# end document
"""


def write(folder: Path, text: str, name: str = "some.conll") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_documents_sentences_and_clusters_are_read(tmp_path: Path) -> None:
    first, second = read_coreference(write(tmp_path, CONLL_2012))
    sentences = (("Ann", "Bell", "saw"), ("her", "dog"))
    clusters = (((0, 0),), ((0, 1), (3, 3)))
    assert first == CorefDocument("nw/x part 1", sentences, clusters)
    assert second == CorefDocument("nw/y", (("Hush",),), ())


def test_ontogum_has_no_sentence_boundaries_so_stops_make_them(tmp_path: Path) -> None:
    (document,) = read_coreference(write(tmp_path, ONTOGUM, "GUM_x.conll"))
    sentences = (("Mecca", "'s", "mosque", "."), ("It", "stands"))
    assert document == CorefDocument("GUM_x", sentences, (((0, 1),), ((0, 2), (4, 4))))


def test_one_sentence_of_conll_2012_stays_one(tmp_path: Path) -> None:
    tokens = [*["so"] * 120, ".", "Yes", "."]
    text = "".join(f"d\t0\t{n}\t{token}\t_\t-\n" for n, token in enumerate(tokens))
    (document,) = read_coreference(write(tmp_path, text))
    assert document.sentences == (tuple(tokens),)


def test_mentions_of_one_cluster_may_nest(tmp_path: Path) -> None:
    text = "d\t0\t0\ta\t_\t(1\nd\t0\t1\tb\t_\t(1)\nd\t0\t2\tc\t_\t1)\n"
    (document,) = read_coreference(write(tmp_path, text))
    assert document.clusters == (((0, 2), (1, 1)),)


def test_singletons_can_be_left_out(tmp_path: Path) -> None:
    document = without_singletons(read_coreference(write(tmp_path, CONLL_2012))[0])
    assert document.clusters == (((0, 1), (3, 3)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d\t0\t0\ta\t_\t(1\n", "line 1: mention 1 opens and is never closed"),
        ("d\t0\t0\ta\t_\t1)\n", "line 1: mention 1 closes but never opened"),
        ("d\t0\t0\ta\t_\tnoun\n", "line 1: 'noun' in the last column is no mention"),
        ("hello world\n", "line 1: 2 columns"),
    ],
)
def test_a_wrong_column_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_coreference(write(tmp_path, text))


def test_an_empty_file_holds_no_documents(tmp_path: Path) -> None:
    assert read_coreference(write(tmp_path, "\n")) == []


def test_a_folder_is_read_in_order_of_name(tmp_path: Path) -> None:
    write(tmp_path, CONLL_2012, "b.conll")
    write(tmp_path, ONTOGUM, "a.conll")
    assert [document.name for document in read_coreference(tmp_path)] == [
        "a",
        "nw/x part 1",
        "nw/y",
    ]


def test_typed_text_is_split_into_documents_sentences_and_tokens() -> None:
    documents = list(parse_documents(["Ann came.\n", "She sat.\n", "\n", "Bye.\n"], "-"))
    assert documents == [
        CorefDocument("- 1", (("Ann", "came", "."), ("She", "sat", ".")), ()),
        CorefDocument("- 2", (("Bye", "."),), ()),
    ]


def test_columns_given_for_prediction_lose_their_mentions(tmp_path: Path) -> None:
    expected = [d._replace(clusters=()) for d in read_coreference(write(tmp_path, CONLL_2012))]
    assert list(parse_documents(CONLL_2012.splitlines(keepends=True), "-")) == expected
