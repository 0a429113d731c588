"""Processes by what the system shows as their command line."""

from pathlib import Path


def processes_titled(part: str) -> set[int]:
    """Ids of those whose command line holds ``part``; on systems with /proc."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if part.encode() in title:
            found.add(int(folder.name))
    return found
