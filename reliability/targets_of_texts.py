"""Text: of corpora, of tasks, of settings, and what is typed on the command line."""

import bz2
import contextlib
import gzip
import io
import lzma
import shutil
import sys
import tempfile
from pathlib import Path

from small_task_files import entailment_file, entity_file, sentiment_file
from span_task_files import coreference_file, role_file, squad_file
from targets import Target
from targets_of_models import tiny_native

from elmokit.analysis.probes.part_of_speech import read_tagged
from elmokit.cli import app
from elmokit.embed.files.fasta import read_fasta
from elmokit.embed.files.inputs import read_sentences
from elmokit.pretrain.config import read_recipe
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.tasks.config import find_recipe
from elmokit.tasks.run import configured
from elmokit.tasks.task import find_task
from elmokit.text.sentences import SentenceSplitter
from elmokit.text.token_ids import Utf8Characters
from elmokit.text.tokenize import tokenize
from elmokit.text.vocabulary import read_vocabulary

PROSE = (
    "Dr. Lee didn't pay $3.50 (or 40%) for 'naïve' re-runs... \"Why?\" she asked at 3 p.m. today.\n"
    "Visit http://a.b/c?d=e, e-mail x@y.zz; cannot, gonna -- it's 'twas 1,000.5!\n\n東京は🙂。\n"
)
SPLITTER = SentenceSplitter.default()


def _prose(folder: Path) -> None:
    (folder / "prose.txt").write_text(PROSE, encoding="utf-8")


def _read_prose(folder: Path) -> None:
    """Tokens stand where they say, whatever the text is."""
    text = (folder / "prose.txt").read_bytes().decode("utf-8", "replace")[:20_000]
    end = 0
    for token in tokenize(text):
        assert end <= token.start <= token.end <= len(text), "tokens overlap"
        end = token.end
    for sentence in SPLITTER.split(text):
        assert text[sentence.start : sentence.start + len(sentence.text)] == sentence.text
    Utf8Characters(50).encode([token.text for token in tokenize(text[:500])])


def _sources(folder: Path) -> None:
    content = PROSE.encode()
    (folder / "a.txt").write_bytes(content)
    (folder / "b.txt.gz").write_bytes(gzip.compress(content, mtime=0))
    (folder / "c.txt.xz").write_bytes(lzma.compress(content))
    (folder / "d.txt.bz2").write_bytes(bz2.compress(content))
    words = "<S>\n</S>\n<UNK>\nthe\n"
    (folder / "vocab.gz").write_bytes(gzip.compress(words.encode(), mtime=0))


def _read_sources(folder: Path) -> None:
    out = folder.with_name(f"{folder.name}-prepared")
    prepare([folder], out, PrepareConfig(vocabulary_size=50), num_workers=1, quiet=True)
    for path in sorted(folder.iterdir()):
        if path.name == "vocab.gz":
            read_vocabulary(path)
        else:
            list(read_sentences([str(path)], pretokenized=False))


def _fasta(folder: Path) -> None:
    text = ">sp|P69905|HBA_HUMAN x\nMVLSPADKTN\nVKAAW\n\n>sp|P68871|HBB\nMVHLTPEEKS\n"
    (folder / "a.fasta").write_text(text)


def _read_fasta(folder: Path) -> None:
    list(read_fasta([str(folder / "a.fasta")]))


READERS = {
    "ner": (entity_file, "a.conll"),
    "sentiment": (sentiment_file, "a.tsv"),
    "entailment": (entailment_file, "b.tsv"),
    "srl": (role_file, "a.props"),
    "coref": (coreference_file, "b.conll"),
    "squad": (squad_file, "a.json"),
}
TREE = "(3 (2 It) (4 (4 works) (2 (2 (1 very) (3 well)) (2 .))))\n"
PAIRS = (
    '{"gold_label": "neutral", "sentence1": "A man runs.", "sentence2": "He is late."}\n'
    '{"gold_label": "-", "sentence1": "A dog.", "sentence2": "A cat."}\n'
)
TAGGED = (
    "# text\n1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
)


def _task_files(folder: Path) -> None:
    for write, name in READERS.values():
        write(folder / name)
    (folder / "c.txt").write_text(TREE)
    (folder / "d.jsonl").write_text(PAIRS)
    (folder / "e.conllu").write_text(TAGGED)


def _read_task_files(folder: Path) -> None:
    for task, (_, name) in READERS.items():
        for example in find_task(task).read(folder / name):
            find_task(task).num_tokens(example)
    find_task("sentiment").read(folder / "c.txt")
    find_task("entailment").read(folder / "d.jsonl")
    read_tagged(folder / "e.conllu")


def _settings(folder: Path) -> None:
    shutil.copy(find_recipe("ner", "cpu"), folder / "task.toml")
    here = Path(sys.modules["elmokit"].__file__ or "").parent
    shutil.copy(here / "recipes" / "tiny.toml", folder / "tiny.toml")
    lines = ["train.window=7", "lstm.dim=12", "char_cnn.filters=[[1,2]]", "train.dropout=0.1"]
    (folder / "set").write_text("\n".join(lines))


def _read_settings(folder: Path) -> None:
    text = (folder / "set").read_bytes().decode("utf-8", "replace")
    read_recipe(folder / "tiny.toml", text.split("\n")[:8])
    configured("ner", folder / "task.toml", [])


MODEL = Path(tempfile.mkdtemp(prefix="elmokit-attack-")) / "tiny"
COMMANDS = [
    "embed\nIN\n-o\nOUT.h5\n-m\nMODEL\n-q\n--layers\nall\n--pool\nmean\n--float16",
    "embed\nIN\n-o\nOUT.npz\n-m\nMODEL\n-q\n--layers\n0,2\n--batch-tokens\n7\n--resume\n--verify",
    "embed\nIN\n-o\nOUT.h5\n-m\nMODEL\n-q\n--protein\n--id\n-1\n--split-char\n|",
    "info\nMODEL",
    "convert\nMODEL\nOUT\n--format\nbilm-tf",
    "verify\nMODEL\n--expected\nIN\n--sentences\nIN",
    "prepare\nIN\n-o\nOUT\n--workers\n1\n--vocabulary-size\n50\n--heldout\n0.1\n--min-count\n1",
    "predict\nIN\n--model\nMODEL",
    "train\ntiny\n--data\nIN\n-o\nOUT\n--set\ntrain.window=3",
    "export\nIN\nOUT\n--format\nnative\n--card\na=b",
    "perplexity\nMODEL\n--data\nIN\n--max-tokens\n3",
    "task\neval\nIN\n--test\nIN",
    "task\npredict\nIN\nIN",
    "index\nIN\n-o\nOUT\n-m\nMODEL",
    "neighbours\nIN\nplay\nA play.",
    "compare\nplay\nA play.\nTo play.\n-m\nMODEL",
]


def _commands(folder: Path) -> None:
    """One command per file: one word per line; IN, OUT and MODEL are put in."""
    if not MODEL.exists():
        from elmokit.cli import analyse, corpus, embedding, pretrain, report, tasks, words

        assert all((analyse, corpus, embedding, pretrain, report, tasks, words))
        tiny_native(MODEL)
    for number, command in enumerate(COMMANDS):
        (folder / f"{number}.command").write_text(command)


def _run_commands(folder: Path) -> None:
    """Run those that were changed."""
    for number, command in enumerate(COMMANDS):
        text = (folder / f"{number}.command").read_bytes().decode("utf-8", "replace")
        if text != command:
            _run_command(text)


def _run_command(text: str) -> None:
    """Its words as a shell would pass them; nothing outside of an empty folder is written."""
    from typer.testing import CliRunner

    with tempfile.TemporaryDirectory(prefix="elmokit-attack-") as name:
        (Path(name) / "in.txt").write_text("A play, a ball.\nTo play.\n")
        places = {"IN": f"{name}/in.txt", "OUT": f"{name}/out", "MODEL": str(MODEL)}
        words = [word for word in text.replace("\0", "").split("\n")[:40] if _is_harmless(word)]
        for mark, path in places.items():
            words = [word.replace(mark, path) for word in words]
        with contextlib.chdir(name), contextlib.redirect_stderr(io.StringIO()):
            error = CliRunner().invoke(app, words, input="").exception
    if error is not None and not isinstance(error, (SystemExit, OSError)):
        raise error


def _is_harmless(word: str) -> bool:
    """No path out of the folder, no network, no shell to be set up for completion."""
    return not any(part in word for part in ("/", "..", "hf:", "completion", "~"))


TEXTS = [
    Target("prose", _prose, _read_prose, 3),
    Target("text files", _sources, _read_sources, 2),
    Target("FASTA", _fasta, _read_fasta),
    Target("task files", _task_files, _read_task_files, 4),
    Target("settings", _settings, _read_settings, 2),
    Target("command line", _commands, _run_commands, 3),
]
