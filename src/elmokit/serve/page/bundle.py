"""ES modules -> one script: a page that is opened from disk cannot import modules.

Every module becomes a function that returns what it exports; they run in the order of their
imports. The page's modules keep to a subset of the language that plain text can be checked for:

    import { one, other as renamed } from "./path.js";        at the start of a line
    export function, export async function, export class, export const
"""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath

_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function\*?|class|const) +([\w$]+)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def bundle(root: Traversable, entry: str = "main.js") -> str:
    """One classic script that does what importing ``entry`` would do.

    Args:
        root: the folder of the modules.
        entry: the module to start with, by its path below ``root``.
    """
    order: list[str] = []
    sources: dict[str, str] = {}
    _visit(root, normpath(entry), (), order, sources)
    number_of = {path: number for number, path in enumerate(order)}
    parts = [_wrapped(path, sources[path], number_of) for path in order]
    return '"use strict";\n' + "".join(parts)


def _visit(
    root: Traversable, path: str, above: tuple[str, ...], order: list[str], sources: dict[str, str]
) -> None:
    if path in above:
        raise ValueError(f"modules import each other: {' -> '.join((*above, path))}")
    if path in sources:
        return
    file = root.joinpath(path)
    if not file.is_file():
        importer = f" (imported by {above[-1]})" if above else ""
        raise ValueError(f"{path}: no such module{importer}")
    sources[path] = file.read_text(encoding="utf-8")
    for imported in _IMPORT.finditer(sources[path]):
        _visit(root, _resolve(path, imported[2]), (*above, path), order, sources)
    order.append(path)


def _resolve(path: str, imported: str) -> str:
    return normpath(join(dirname(path), imported))


def _wrapped(path: str, source: str, number_of: dict[str, int]) -> str:
    def constants(imported: re.Match[str]) -> str:
        names = ", ".join(": ".join(name.split(" as ")) for name in _names(imported[1]))
        module = number_of[_resolve(path, imported[2])]
        return f"const {{ {names} }} = module{module};\n"

    exported = [match[2] for match in _EXPORT.finditer(source)]
    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub(constants, source))
    left = _LEFT.search(body)
    if left is not None:
        raise ValueError(f"{path}: cannot be bundled: {left[0]}")
    return (
        f"// {path}\nconst module{number_of[path]} = (() => {{\n{body}"
        f"return {{ {', '.join(exported)} }};\n}})();\n"
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def page_folder() -> Traversable:
    """Where the page's own files are."""
    return files("elmokit.serve.page")
