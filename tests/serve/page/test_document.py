"""One self-contained file, whatever the text contains."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path

from tiny_explorer import HOSTILE, tiny_data

from elmokit.serve.page.document import ExplorerPage


def test_the_data_survive_and_no_text_can_leave_its_element() -> None:
    page = ExplorerPage(tiny_data().to_json_value())
    (data,) = re.findall(
        r'<script type="application/json" id="exploration">(.*?)</script>', page.html
    )
    assert json.loads(data) == page.document
    assert HOSTILE in str(json.loads(data))
    assert HOSTILE not in page.html
    assert page.html.count("</script>") == 2


def test_only_the_script_of_the_page_may_run() -> None:
    page = ExplorerPage(tiny_data().to_json_value()).html
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "connect-src 'none'" in page


def test_a_title_is_text_and_placeholders_in_it_stay() -> None:
    from dataclasses import replace

    page = ExplorerPage(replace(tiny_data(), title="<b>{{data}}").to_json_value()).html
    assert "<title>&lt;b&gt;{{data}}</title>" in page


def test_a_notebook_shows_the_page_in_a_frame() -> None:
    page = ExplorerPage(tiny_data().to_json_value())
    found = re.fullmatch(r'<iframe srcdoc="([^"]*)" title=.*</iframe>', page._repr_html_())
    assert found and html.unescape(found[1]) == page.html


def test_saving_replaces_the_file_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    page = ExplorerPage(tiny_data().to_json_value())
    page.save(path)
    assert path.read_text(encoding="utf-8") == page.html
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
