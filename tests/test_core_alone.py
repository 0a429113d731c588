"""The core works without the extras, and says which one to install where it needs one."""

import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

from random_files import BilmTfSpec, write_bilm_tf_files

SCRIPT = """
import sys
for name in sys.argv[2:]:
    sys.modules[name] = None  # importing it fails, as if it were not installed
from pathlib import Path
import elmokit
from elmokit.cli import analyse, corpus, embedding, pretrain, report, serving, tasks, words
from elmokit.embed.files.writers import writing
elmo = elmokit.load(sys.argv[1])
print(elmo.embed(["It can't be."])[0].shape)
try:
    with writing(Path(sys.argv[1]) / "out.parquet"):
        pass
except elmokit.InputError as error:
    print(error)
"""


def test_without_extras_the_core_embeds_and_parquet_names_its_extra(tmp_path: Path) -> None:
    extras = [
        line for line in requires("elmokit") or () if re.search("extra == .(?!dev|all)", line)
    ]
    packages = {re.split(r"[^\w-]", line)[0] for line in extras}
    absent = sorted(packages)
    assert {"pyarrow", "matplotlib", "nltk"} <= set(absent)
    write_bilm_tf_files(tmp_path / "model", BilmTfSpec())
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "model"), *absent],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "(5, 10)",
        "writing Parquet needs pyarrow: install it with  pip install 'elmokit[parquet]'",
    ]


UNNEEDED = ("torch._dynamo", "scipy", "sklearn", "nltk", "matplotlib", "pyarrow", "rich.progress")


def test_loading_and_embedding_import_no_compiler_and_no_extra(tmp_path: Path) -> None:
    """Each of them would cost as much as a good part of torch; see benchmarks/speed/startup.py."""
    write_bilm_tf_files(tmp_path / "model", BilmTfSpec())
    (tmp_path / "two.txt").write_text("I like apples.\nShe works for Apple.\n")
    program = (
        "import sys, elmokit\n"
        "elmokit.load()\n"  # the shipped model is native, the other bilm-tf
        "from elmokit.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print(*(name for name in {UNNEEDED} if name in sys.modules))\n"
    )
    arguments = ["embed", "two.txt", "-o", "two.h5", "--model", "model"]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "two.h5").exists()
    assert done.stdout.strip() == ""
