"""Peak memory of the commands of docs/guide/words.md on a text, and on ten times as much.

    python benchmarks/quality/words_memory.py CORPUS [--tokens N] [--model NAME]

CORPUS holds news.txt, fiction.txt and reviews.txt. Every command runs in a process of its own,
whose largest resident set is read when it has ended. ``change`` compares all words above a count
that grows with the text, so that about as many are compared: its memory depends on them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def peak_megabytes(command: list[str], log: Path) -> float:
    """The largest resident set of a process, which must succeed."""
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: failed\n{log.read_text()}")
    return usage.ru_maxrss / 1000  # Linux counts kilobytes


def first_words(source: Path, number: int, target: Path) -> None:
    """Whole lines of about ``number`` words between spaces."""
    with source.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line)
            number -= len(line.split())
            if number <= 0:
                return


def commands(
    corpus: Path, model: str, folder: Path, times: int, tokens: int
) -> dict[str, list[str]]:
    """The arguments of each command on a text that is ``times`` as long."""
    text = folder / f"text-{times}.txt"
    first_words(corpus / "news.txt", times * tokens, text)
    long = folder / f"long-{times}.txt"
    first_words(corpus / "news.txt", 10 * times * tokens, long)
    sentence = "the *bank* raised " + " ".join(["its rates and"] * (10 * times)) + " fees ."
    fiction, reviews = (str(corpus / f"{name}.txt") for name in ("fiction", "reviews"))
    count = f"{max(10, times * tokens // 200)}"
    compared = [fiction, reviews, "--tokens", f"{4 * times * tokens}", "--min-count", count]
    sample = ["--limit", "30", "--pages", "5"]
    return {
        "surprisal": [str(text), "--model", model, "-q", "-o", str(folder / "surprisal.tsv")],
        "substitutes": [sentence, "--model", model],
        "senses": ["said", str(long), "-m", model, "--limit", "100", "-o", str(folder / "senses")],
        "change": [*compared, "-m", model, *sample, "-o", str(folder / "change")],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--tokens", type=int, default=32_768)
    parser.add_argument("--model", default="en-small")
    options = parser.parse_args()
    print("| command | text | MB | ten times the text, MB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        once, ten = (
            commands(options.corpus, options.model, folder, times, options.tokens)
            for times in (1, 10)
        )
        sizes = {"substitutes": "35 tokens", "senses": f"{10 * options.tokens:,} words of news"}
        sizes["change"] = f"2 x {4 * options.tokens:,} tokens"
        for command in once:
            found = []
            for arguments in (once[command], ten[command]):
                words = [sys.executable, "-m", "elmokit", command, *arguments]
                found.append(peak_megabytes(words, folder / "log"))
            size = sizes.get(command, f"{options.tokens:,} words of news")
            print(f"| `{command}` | {size} | {found[0]:.0f} | {found[1]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
