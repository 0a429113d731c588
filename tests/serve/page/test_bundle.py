"""ES modules become one script."""

from pathlib import Path

import pytest

from elmokit.serve.page.bundle import bundle, page_folder


def write(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text)
    return folder


def test_modules_run_once_in_the_order_of_their_imports(tmp_path: Path) -> None:
    write(
        tmp_path,
        main='import { b } from "./b.js";\nimport { a as first } from "./a.js";\nfirst(b);\n',
        b='import { a } from "./a.js";\nexport const b = a(1);\n',
        a="export function a(x) {\n  return x;\n}\n",
    )
    script = bundle(tmp_path)
    assert [line for line in script.splitlines() if line.startswith("//")] == [
        "// a.js",
        "// b.js",
        "// main.js",
    ]
    assert "const { a: first } = module0;" in script
    assert "return { b };" in script
    assert "import" not in script and "export" not in script


def test_what_cannot_be_bundled_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, main='import x from "./b.js";\n')
    with pytest.raises(ValueError, match=r"main\.js: cannot be bundled: import x"):
        bundle(tmp_path)
    write(tmp_path, main='import { x } from "./nowhere.js";\n')
    with pytest.raises(ValueError, match=r"nowhere\.js: no such module .imported by main\.js"):
        bundle(tmp_path)


def test_modules_that_import_each_other_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, main='import { x } from "./b.js";\n', b='import { y } from "./main.js";\n')
    with pytest.raises(ValueError, match=r"main\.js -> b\.js -> main\.js"):
        bundle(tmp_path)


def test_every_module_of_the_page_is_in_the_script() -> None:
    folder = Path(str(page_folder()))
    script = bundle(page_folder())
    for module in folder.rglob("*.js"):
        assert f"// {module.relative_to(folder).as_posix()}\n" in script


def test_the_page_needs_nothing_from_elsewhere() -> None:
    folder = Path(str(page_folder()))
    for file in [*folder.rglob("*.js"), *folder.glob("*.css"), *folder.glob("*.html")]:
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")  # a name, no address
        assert "http://" not in text and "https://" not in text, file
