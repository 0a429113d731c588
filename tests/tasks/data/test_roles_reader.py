import tarfile
from pathlib import Path

import pytest

from elmokit.errors import InputError
from elmokit.tasks.data.roles import RoleExample, parse_roles, read_roles

PROPBANK = """\
web\t0\t0\tShe\tPRP\t(S*\t-\t-\t(ARG0*)\t*
web\t0\t1\twants\tVBZ\t*\twant\twant.01\t(V*)\t*
web\t0\t2\tto\tTO\t*\t-\t-\t(ARG1*\t*
web\t0\t3\tleave\tVB\t*)\tleave\tleave.02\t*)\t(V*)

web\t1\t0\tYes\tUH\t*\t-\t-
"""
CONLL_2012 = """\
#begin document (bc/x); part 000
bc/x  0  0  Cats  NNS  (S*  -     -   -  A  *  (ARG0*)  (7)
bc/x  0  1  sleep VBP  *)   sleep 01  1  A  *  (V*)      -

bc/x  0  0  Oh    UH   *    -     -   -  A  *  -
#end document
"""
CONLL_2005 = """\
The    DT  (NP*  -      (A1*
bill   NN  *)    -      *)
was    AUX *     -      *
passed VBN *     pass   (V*V)

Oh     UH  *     -
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "roles.conll"
    path.write_text(text, encoding="utf-8")
    return path


def test_propbank_columns_give_one_example_a_predicate(tmp_path: Path) -> None:
    tokens = ("She", "wants", "to", "leave")
    assert read_roles(write(tmp_path, PROPBANK)) == [
        RoleExample(tokens, 1, ("B-ARG0", "B-V", "B-ARG1", "I-ARG1")),
        RoleExample(tokens, 3, ("O", "O", "O", "B-V")),
    ]


def test_conll_2012_columns_are_recognised(tmp_path: Path) -> None:
    expected = RoleExample(("Cats", "sleep"), 1, ("B-ARG0", "B-V"))
    assert read_roles(write(tmp_path, CONLL_2012)) == [expected]


def test_conll_2005_columns_are_recognised(tmp_path: Path) -> None:
    tags = ("B-A1", "I-A1", "O", "B-V")
    expected = RoleExample(("The", "bill", "was", "passed"), 3, tags)
    assert read_roles(write(tmp_path, CONLL_2005)) == [expected]


def test_an_empty_file_holds_no_examples(tmp_path: Path) -> None:
    assert read_roles(write(tmp_path, "\n\n")) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(V*)\t*\nweb\t0\t2", "(V*\t*\nweb\t0\t2", "line 3, column 9: ARG1 opens inside V"),
        ("*)\t(V*)", "*\t(V*)", "line 3, column 9: ARG1 opens and is never closed"),
        ("(ARG0*)\t*", "*)\t*", r"line 1, column 9: '\*\)' closes an argument that never opened"),
        ("(ARG0*)\t*", "ARG0\t*", "line 1, column 9: 'ARG0' is no bracket"),
        ("want.01", "-", "line 1: the sentence has 1 predicates in column 8 but 2 columns"),
        ("*)\t(V*)", "*)", "line 4: 9 columns, but the sentence's first line has 10"),
    ],
)
def test_a_broken_column_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert PROPBANK.count(old) == 1
    with pytest.raises(InputError, match=message):
        read_roles(write(tmp_path, PROPBANK.replace(old, new)))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "roles.conll"
    path.write_bytes(b"caf\xe9 NN * -\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_roles(path)


def test_marked_predicates_of_typed_text_become_examples() -> None:
    examples = list(parse_roles(["She _wants_ to _leave_ .\n", "\n"], "-"))
    tokens = ("She", "wants", "to", "leave", ".")
    assert examples[:2] == [RoleExample(tokens, 1, None), RoleExample(tokens, 3, None)]
    assert examples[2:] == [RoleExample((), 0, None)]  # the blank line keeps its place


def test_typed_text_without_a_predicate_is_refused() -> None:
    with pytest.raises(InputError, match="line 2: no predicate is marked"):
        list(parse_roles(["_Go_ !", "Yes ."], "-"))


def test_columns_given_for_prediction_lose_their_arguments(tmp_path: Path) -> None:
    expected = [e._replace(tags=None) for e in read_roles(write(tmp_path, PROPBANK))]
    assert list(parse_roles(PROPBANK.splitlines(keepends=True), "-")) == expected


def test_a_real_file_has_the_predicates_its_readme_states(shared: Path, tmp_path: Path) -> None:
    with tarfile.open(shared / "data" / "ewt-propbank.tar.xz") as archive:
        member = next(m for m in archive.getmembers() if m.name.endswith("ewt.dev.conll"))
        extracted = archive.extractfile(member)
        assert extracted is not None
        path = write(tmp_path, extracted.read().decode("utf-8"))
    assert len(read_roles(path)) == 4961
