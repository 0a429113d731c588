"""``--ray`` of embed and index on a real cluster: two nodes as processes of this machine."""

import bz2
import gzip
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray", reason="needs elmokit[ray] (139 MB), which CI does not install")

import dying_worker
import pyarrow as pa
import pyarrow.parquet as pq
import ray
import torch
from dying_worker import DiesOnce
from process_titles import processes_titled
from ray.cluster_utils import Cluster

import elmokit
from elmokit import Embedder, InputError
from elmokit.analysis.encoders.encoder import Sentences
from elmokit.analysis.encoders.opening import open_encoder
from elmokit.analysis.words.build_index import EncodedChunks, build_index
from elmokit.embed.files.command import EmbedOptions
from elmokit.integrations.ray import TEXT_SUFFIXES, EmbedBatches, run_embed_on_ray
from elmokit.integrations.ray_index import encode_on_ray

TEXTS = [f"The cat number {number} sat ." + " It left ." * (number % 5) for number in range(300)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Two nodes with one CPU each and a little shared memory."""
    size = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    paths = (Path(elmokit.__file__).parents[1], Path(dying_worker.__file__).parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, paths)))  # what workers import from
        patch.setenv("RAY_worker_niceness", "0")  # Ray's 15 starves workers on a busy machine
        nodes = Cluster(initialize_head=True, head_node_args={**size, "include_dashboard": False})
        nodes.add_node(**size)
        ray.init(nodes.address, log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield
        ray.shutdown()
        nodes.shutdown()


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(3):
        part = TEXTS[number::3]
        table = pa.table({"id": list(range(number, len(TEXTS), 3)), "text": part})
        pq.write_table(table, folder / f"{number}.parquet")
    return folder


def rows(folder: Path) -> list[dict[str, Any]]:
    return sorted(pq.read_table(folder).to_pylist(), key=lambda row: row["id"])


def test_rows_are_those_of_embed(cluster: None, model: Path, texts: Path, tmp_path: Path) -> None:
    options = EmbedOptions(model=str(model), layers="top", pretokenized=True, quiet=True)
    said = run_embed_on_ray([str(texts)], tmp_path / "out", options)
    assert said == f"{tmp_path / 'out'}: 300 texts, at most 2 workers"
    found = rows(tmp_path / "out")
    expected = elmokit.load(model).embed([text.split() for text in TEXTS], "top")
    assert [row["text"] for row in found] == TEXTS
    for row, text, vectors in zip(found, TEXTS, expected, strict=True):
        assert row["tokens"] == text.split()
        assert np.allclose(row["vectors"], vectors, atol=1e-5)


def test_sentences_can_be_forgotten_and_batches_bounded(
    cluster: None, model: Path, texts: Path, tmp_path: Path
) -> None:
    options = EmbedOptions(
        model=str(model), pretokenized=True, batch_tokens=16, keep_sentences=False, quiet=True
    )
    run_embed_on_ray([str(texts)], tmp_path / "out", options)
    found = rows(tmp_path / "out")
    assert [set(row) for row in found] == [{"id", "vectors"}] * len(TEXTS)
    expected = elmokit.load(model).embed([text.split() for text in TEXTS])
    for row, vectors in zip(found, expected, strict=True):
        assert np.allclose(row["vectors"], vectors, atol=1e-5)


@pytest.mark.parametrize("batch_tokens", [7, 8192])
def test_a_worker_computes_batches_of_that_many_tokens(
    model: Path, monkeypatch: pytest.MonkeyPatch, batch_tokens: int
) -> None:
    sizes: list[int] = []
    embed = Embedder.embed

    def embed_and_note(*arguments: Any, **settings: Any) -> Any:
        sizes.append(settings["batch_tokens"])
        return embed(*arguments, **settings)

    monkeypatch.setattr(Embedder, "embed", embed_and_note)
    num_threads = torch.get_num_threads()
    worker = EmbedBatches(str(model), batch_tokens=batch_tokens)
    torch.set_num_threads(num_threads)  # a worker takes one thread
    assert worker(pa.table({"text": TEXTS[:3]})).num_rows == 3
    assert sizes == [batch_tokens]


def test_a_killed_worker_loses_and_doubles_nothing(
    cluster: None, model: Path, texts: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "killed"
    settings = {"mark": str(mark), "model": str(model), "pool": "mean", "pretokenized": True}
    vectors = ray.data.read_parquet(str(texts)).map_batches(
        DiesOnce,
        fn_constructor_kwargs=settings,
        batch_format="pyarrow",
        batch_size=32,
        compute=ray.data.ActorPoolStrategy(size=1),
    )
    vectors.write_parquet(str(tmp_path / "out"))
    assert mark.exists()
    found = rows(tmp_path / "out")
    assert [row["id"] for row in found] == list(range(len(TEXTS)))
    expected = elmokit.load(model).pool([text.split() for text in TEXTS])
    assert np.allclose([row["vector"] for row in found], expected, atol=1e-5)


@pytest.mark.parametrize("suffix", TEXT_SUFFIXES)
def test_lines_of_text_files_are_texts(
    cluster: None, model: Path, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"text{suffix}"
    opened: dict[str, Any] = {".txt": open, ".txt.gz": gzip.open, ".txt.bz2": bz2.open}
    with opened[suffix](path, "wt") as file:
        file.write("The cat sat.\n\nIt can't be.\n")
    options = EmbedOptions(model=str(model), pool="mean", quiet=True)
    run_embed_on_ray([str(path)], tmp_path / "out", options)
    found = {row["text"]: row["vector"] for row in pq.read_table(tmp_path / "out").to_pylist()}
    expected = elmokit.load(model).pool(["The cat sat.", "", "It can't be."])
    assert np.allclose(list(found.values()), expected, atol=1e-5)


def test_an_index_is_the_same_after_a_worker_was_killed(
    cluster: None, model: Path, tmp_path: Path
) -> None:
    encoder, sentences = open_encoder(str(model)), [text.split() for text in 20 * TEXTS]
    build_index(encoder, sentences, tmp_path / "here", quiet=True)
    encode = encode_on_ray(str(model), max_workers=2)
    killed = []

    def encode_and_kill(chunks: Iterable[Sentences]) -> EncodedChunks:
        for chunk in encode(chunks):
            if not killed:
                killed.append(min(processes_titled("ray::LayersWorker")))
                os.kill(killed[0], 9)
            yield chunk

    report = build_index(
        encoder, sentences, tmp_path / "ray", quiet=True, encode_chunks=encode_and_kill
    )
    assert killed and report.num_sentences == len(sentences)
    for file in sorted((tmp_path / "here").iterdir()):
        other = tmp_path / "ray" / file.name
        if file.suffix == ".f16":
            ours, theirs = (np.fromfile(path, dtype=np.float16) for path in (file, other))
            assert np.allclose(ours, theirs, atol=1e-3)
        elif file.name != "SHA256SUMS":
            assert file.read_bytes() == other.read_bytes(), file.name


def test_what_cannot_work_is_said_in_one_sentence(
    cluster: None, model: Path, texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = EmbedOptions(model=str(model), quiet=True)
    (tmp_path / "empty").mkdir()
    for name in ("lines.txt", "lines.xz"):
        (tmp_path / name).write_text("The cat sat.\n")
    for arguments, settings, message in [
        ([texts], {"column": "body"}, "no column 'body', only id, text"),
        ([tmp_path / "missing"], {}, "missing: there is no such file or folder"),
        ([tmp_path / "missing.txt"], {}, "missing.txt: there is no such file"),
        ([tmp_path / "lines.xz"], {}, "lines.xz: --ray reads Parquet and .txt"),
        ([tmp_path / "empty"], {}, "empty: there is no .parquet file in this folder"),
        ([tmp_path / "lines.txt", texts], {}, "texts: text files and Parquet cannot be read"),
    ]:
        with pytest.raises(InputError, match=message):
            run_embed_on_ray(list(map(str, arguments)), out, options, **settings)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="--protein cannot be combined with --ray"):
        run_embed_on_ray([str(texts)], out, EmbedOptions(protein=True))
    with pytest.raises(InputError, match="--bio-embeddings cannot be combined with --ray"):
        run_embed_on_ray([str(texts)], out, EmbedOptions(bio_embeddings=True))
    with pytest.raises(InputError, match="got '0,1'"):
        run_embed_on_ray([str(texts)], out, EmbedOptions(model=str(model), layers="0,1"))
    with pytest.raises(InputError, match="choose another name"):
        run_embed_on_ray([str(texts)], texts, options)
    assert not out.exists()
