"""Commands, options, settings, files, modules and links that the documentation names exist."""

import importlib
import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from command_tree import all_options, check_names, check_usage
from markdown_pages import (
    LINKED_PAGES,
    PAGES,
    ROOT,
    elmokit_arguments,
    read_page,
    split_command,
)

from elmokit.compat import seqvec
from elmokit.config import CharCnnConfig, LstmConfig, WordTableConfig
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.pretrain.config import TrainConfig
from elmokit.tasks.config import CharactersConfig, DataConfig, ElmoConfig, FitConfig, WordsConfig
from elmokit.tasks.task import TASKS, find_task

SETTINGS: dict[str, list[Any]] = {
    "train": [TrainConfig],
    "lstm": [LstmConfig],
    "char_cnn": [CharCnnConfig],
    "words": [WordTableConfig, WordsConfig],
    "characters": [CharactersConfig],
    "elmo": [ElmoConfig],
    "fit": [FitConfig],
    "data": [DataConfig],
    "model": [find_task(name).model_config for name in TASKS],
}
"""The tables that recipes and --set know."""
OTHER_PROGRAMS = {
    "--build-arg": "docker",
    "--max-restarts": "torchrun",
    "n_highway": "options.json",
    "n_layers": "options.json",
    "n_characters": "options.json",
    "train_elmo.py": "bilm-tf",
    "restart.py": "bilm-tf",
    "run_test.py": "bilm-tf",
    "dump_weights.py": "bilm-tf",
    "elmokit.Tok2Vec.v1": "spaCy's registry",
}
"""Names that are not ours, and whose they are."""

every_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


@every_page
def test_every_fenced_block_says_what_it_is(path: Path) -> None:
    languages = {block.language for block in read_page(path).blocks}
    assert languages <= {"console", "python", "text", "toml", "ini"}


@every_page
def test_every_command_in_a_block_would_start(path: Path) -> None:
    for block in read_page(path).blocks:
        if block.language != "console":
            continue
        assert block.commands, f"line {block.line}: no line of this block starts with `$ `"
        for command in block.commands:
            for words in split_command(command):
                arguments = elmokit_arguments(words)
                if arguments is not None:
                    check_usage(arguments)


@every_page
def test_every_command_in_a_sentence_exists(path: Path) -> None:
    for span in read_page(path).spans:
        words = span.split()
        arguments = elmokit_arguments(words)
        if arguments is not None and words[0] in ("elmokit", "torchrun"):
            check_names(arguments)
        elif words[0] == "python" and words[1:] and words[1].endswith(".py"):
            source = (ROOT / words[1]).read_text(encoding="utf-8")
            assert all(f'"{w}"' in source for w in words[2:] if w.startswith("--")), span


@every_page
def test_every_make_target_and_extra_exists(path: Path) -> None:
    page = read_page(path)
    commands = [command for block in page.blocks for command in block.commands]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([\w-]+)", "\n".join([*commands, *page.spans]), re.MULTILINE):
        assert f"\n{target}:" in makefile, f"there is no make {target}"
    extras = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("optional-dep")[1]
    for names in re.findall(r"(?:elmokit|\.)\[([\w,]+)\]", page.text):
        for name in names.split(","):
            assert f"\n{name} = [" in extras, f"there is no extra {name}"


@every_page
def test_every_option_in_a_sentence_exists(path: Path) -> None:
    scripts = (ROOT / "benchmarks").rglob("*.py")
    sources = [script.read_text(encoding="utf-8") for script in scripts]
    other = set(re.findall(r'"(--[\w-]+)"', "".join([*sources, inspect.getsource(seqvec)])))
    known = {*all_options(), *other, *OTHER_PROGRAMS}
    for span in read_page(path).spans:
        if span.startswith("--"):
            assert {word.split("=")[0] for word in span.split() if word.startswith("--")} <= known


@every_page
def test_every_setting_exists(path: Path) -> None:
    is_setting = re.compile(rf"(?:`|--set |:)({'|'.join(SETTINGS)})\.(\w+)\b(?![./(])")
    for table, name in is_setting.findall(read_page(path).text):
        known = {field.name for config in SETTINGS[table] for field in fields(config)}
        is_method = table == "elmo" and hasattr(Embedder, name)  # of the `elmo` of our examples
        is_file = name in ("py", "txt", "json", "hdf5", "safetensors", "tar", "ckpt")
        assert name in known or is_method or is_file, f"there is no setting {table}.{name}"


@every_page
def test_every_file_of_ours_exists(path: Path) -> None:
    roots = (ROOT, ROOT / "src/elmokit", ROOT / "docs")
    for span in read_page(path).spans:
        name = span.split("#")[0]
        is_ours = re.fullmatch(r"[\w./-]+\.py", name) or re.match(
            r"(src|docs|tests|examples|benchmarks|reliability|training)/[\w./-]*$", name
        )
        if is_ours and name not in OTHER_PROGRAMS:
            assert any((root / name).exists() for root in roots), f"there is no file {name}"


@every_page
def test_every_module_and_name_can_be_imported(path: Path) -> None:
    for dotted in set(re.findall(r"\belmokit(?:\.[A-Za-z_]\w*)+", read_page(path).text)):
        if dotted in OTHER_PROGRAMS:
            continue
        try:
            require_importable(dotted)
        except InputError as error:  # a module of an extra that is not installed here
            assert "install it with  pip install" in str(error)


def require_importable(dotted: str) -> None:
    value: object = importlib.import_module("elmokit")
    module = "elmokit"
    for part in dotted.split(".")[1:]:
        if not hasattr(value, part):
            module = f"{module}.{part}" if inspect.ismodule(value) else module
            importlib.import_module(module)
        else:
            module = f"{module}.{part}"
        value = getattr(value, part)


@pytest.mark.parametrize("path", LINKED_PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in read_page(path).links:
        if link.startswith(("https://", "http://")):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in read_page(target).anchors, link
