"""Crash-safe files: written under a temporary name and renamed, locked, and checksummed."""

from elmokit.files.replacing import (
    is_full_disk,
    remove_leftovers,
    replacing_file,
    replacing_folder,
    require_replaceable,
    write_json,
)

__all__ = [
    "is_full_disk",
    "remove_leftovers",
    "replacing_file",
    "replacing_folder",
    "require_replaceable",
    "write_json",
]
