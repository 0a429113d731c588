"""What `python -m build` makes: a wheel that works with the core dependencies alone."""

import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import metadata, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SCRIPT = """
import sys
for name in sys.argv[2:]:
    sys.modules[name] = None  # importing it fails, as if it were not installed
import elmokit
assert elmokit.__file__.startswith(sys.argv[1]), elmokit.__file__
print(elmokit.load("en-small").embed(["I like apples."])[0].shape)
from elmokit.cli import main
sys.argv = ["elmokit", "info"]
main()
"""


def core_distributions() -> set[str]:
    """What `pip install elmokit` installs: its requirements, and theirs, without extras."""
    found: set[str] = set()
    waiting = ["elmokit"]
    for name in waiting:  # grows
        if name in found:
            continue
        found.add(name)
        try:
            lines = requires(name) or []
        except ImportError:  # for another system, or a build of torch without it
            continue
        needed = [Requirement(line) for line in lines]
        usual = [one for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
        waiting += [canonicalize_name(one.name) for one in usual]
    return found


def build(kind: str, folder: Path) -> Path:
    """The wheel or the source archive, made with the hatchling of this environment."""
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "build", "--no-isolation", f"--{kind}"]
    command += ["--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("elmokit-*")
    return built


@pytest.mark.slow
def test_the_wheel_embeds_with_the_core_dependencies_alone(tmp_path: Path) -> None:
    with zipfile.ZipFile(build("wheel", tmp_path / "dist")) as archive:
        archive.extractall(tmp_path)
    core = core_distributions()
    absent = [
        module
        for module, owners in packages_distributions().items()
        if module.isidentifier() and not {canonicalize_name(owner) for owner in owners} & core
    ]
    assert {"sklearn", "spacy", "pyarrow", "matplotlib"} & set(absent)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), *absent],
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(4, 512)\n")


@pytest.mark.slow
def test_the_source_archive_has_what_the_tests_and_the_site_need(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    for name in ("tests/conftest.py", "mkdocs.yml", "docs/index.md", "Makefile", "constraints.txt"):
        assert name in names
    assert not [name for name in names if name.startswith((".venv", "build", "runs"))]


def test_the_dockerfile_installs_what_exists() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = [name for line in re.findall("COPY (.+)", text) for name in line.split()[:-1]]
    assert {"pyproject.toml", "README.md", "LICENSE", "src"} <= set(copied)
    assert all((ROOT / name).exists() for name in copied)
    (torch,) = re.findall(r"install .*(torch==\S+)", text)
    assert torch in (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    (extras,) = re.findall(r"'\.\[(.+)\]'", text)
    assert set(extras.split(",")) <= set(metadata("elmokit").get_all("Provides-Extra") or ())


def test_the_workflows_call_what_exists() -> None:
    """They never run here: at least they are YAML, and their make targets and folders are ours."""
    yaml = pytest.importorskip("yaml")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    files = [*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml"]
    assert len(files) >= 5
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert yaml.safe_load(text), path
        for target in re.findall(r"run: make ([\w-]+)", text):
            assert f"\n{target}:" in makefile, f"{path}: {target}"
        for folder in re.findall(r" (tests/\w+)", text):
            assert (ROOT / folder).exists(), f"{path}: {folder}"
