"""How files become training, development and test sets."""

from pathlib import Path

from elmokit.tasks.benchmark_data import named_split, split_by_name


def test_a_folder_splits_80_10_10_by_name(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02d}.conll").touch()
    split = split_by_name(tmp_path)
    assert [len(part) for part in split] == [16, 2, 2]
    assert [path.stem for path in split[1] + split[2]] == ["16", "17", "18", "19"]


def test_a_named_split_lists_the_files_that_exist(tmp_path: Path) -> None:
    path, splits = tmp_path / "GUM_a.conll", tmp_path / "splits.md"
    path.touch()
    splits.write_text("# Splits\n\n## dev\n\n  * GUM_b\n\n## test\n\n  * GUM_a\n  * GUM_c\n")
    assert named_split(tmp_path, splits, "test") == [path]
