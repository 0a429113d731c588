"""huggingface-hub's cache on disk with a model in it, as a download would have left it."""

import hashlib
from pathlib import Path

from huggingface_hub.utils import filter_repo_objects

from elmokit.weights.names import HUB_FILES

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def fill_hub_cache(cache: Path, repository: str, folder: Path) -> Path:
    """The files of ``folder`` that elmokit downloads, as the main revision; the snapshot."""
    home = cache / f"models--{repository.replace('/', '--')}"
    snapshot = home / "snapshots" / COMMIT
    for part in (home / "refs", home / "blobs", snapshot):
        part.mkdir(parents=True)
    (home / "refs" / "main").write_text(COMMIT)
    names = sorted(path.name for path in folder.iterdir())
    for name in filter_repo_objects(names, allow_patterns=list(HUB_FILES)):
        data = (folder / name).read_bytes()
        blob = home / "blobs" / hashlib.sha256(data).hexdigest()
        blob.write_bytes(data)
        (snapshot / name).symlink_to(Path("..", "..", "blobs", blob.name))
    return snapshot
