"""huggingface-hub's cache on disk with a model in it, as a download would have left it."""

import hashlib
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def fill_hub_cache(cache: Path, repository: str, folder: Path) -> Path:
    """Copy ``folder`` into the cache as the main revision of a repository; the snapshot."""
    home = cache / f"models--{repository.replace('/', '--')}"
    snapshot = home / "snapshots" / COMMIT
    for part in (home / "refs", home / "blobs", snapshot):
        part.mkdir(parents=True)
    (home / "refs" / "main").write_text(COMMIT)
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        blob = home / "blobs" / hashlib.sha256(data).hexdigest()
        blob.write_bytes(data)
        (snapshot / path.name).symlink_to(Path("..", "..", "blobs", blob.name))
    return snapshot
