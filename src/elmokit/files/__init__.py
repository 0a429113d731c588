"""FILES THAT SURVIVE: written aside and renamed, locked while in use, checked by checksums."""

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
