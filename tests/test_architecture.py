"""The folder tree is the architecture: text flows one way, and so do imports."""

import ast
from pathlib import Path

import elmokit

SOURCE = Path(elmokit.__file__).parent
ORDER = ("text", "model", "weights", "embed", "pretrain", "tasks", "analysis")
"""Each folder imports only from itself, from those before it, and from the files above them all."""
ON_TOP = ("compat", "integrations", "serve", "cli")
"""May import from every folder of ORDER; nobody imports from them but the command line."""
MOST_ENTRIES = 14
MOST_ROOMS = 18
"""Below elmokit itself: the folders above, and the few files that all of them use."""


def imported_modules(path: Path) -> set[str]:
    """Modules of elmokit that a file imports, wherever in it the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "elmokit"}


def room_of(parts: tuple[str, ...]) -> str | None:
    """The folder right below elmokit that a file or module stands in; None: a file beside them."""
    return parts[0] if parts and parts[0] in (*ORDER, *ON_TOP) else None


def test_imports_point_one_way() -> None:
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        here = room_of(path.relative_to(SOURCE).parts)
        for module in imported_modules(path):
            there = room_of(tuple(module.split(".")[1:]))
            is_upward = (
                there in ORDER and here in ORDER and ORDER.index(there) > ORDER.index(here)
            ) or (there in ON_TOP and here != there and here != "cli")
            is_from_root = here is None and there is not None
            if is_from_root and path.name in ("__init__.py", "__main__.py"):
                continue  # the public names and ``python -m elmokit``
            if is_upward or is_from_root:
                wrong.append(f"{path.relative_to(SOURCE)} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_no_room_is_crowded() -> None:
    crowded = []
    for folder in [SOURCE, *(path for path in SOURCE.rglob("*") if path.is_dir())]:
        entries = [
            entry.name
            for entry in folder.iterdir()
            if entry.name not in ("__init__.py", "__main__.py", "__pycache__", "py.typed")
            and (entry.suffix == ".py" or (entry.is_dir() and any(entry.rglob("*.py"))))
        ]
        if len(entries) > (MOST_ROOMS if folder == SOURCE else MOST_ENTRIES):
            crowded.append(f"{folder.relative_to(SOURCE.parent)}: {len(entries)} entries")
    assert not crowded, "\n".join(crowded)


def test_every_folder_says_what_it_holds() -> None:
    for folder in (path for path in SOURCE.rglob("*") if path.is_dir()):
        if any(folder.glob("*.py")):
            text = (folder / "__init__.py").read_text(encoding="utf-8")
            assert ast.get_docstring(ast.parse(text)), f"{folder} has no docstring"
