"""The page in a real browser, opened from disk: what a reader does, and what is seen."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium
from tiny_explorer import HOSTILE, SENTENCES, tiny_data

from elmokit.serve.page.document import ExplorerPage

SIZE = {"width": 1200, "height": 900}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    ExplorerPage(tiny_data().to_json_value()).save(path)
    return path.as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """Opened from disk without a network; any error or request to elsewhere fails the test."""
    context = browser.new_context(viewport=SIZE, offline=True, reduced_motion="reduce")
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
    opened.on(
        "console",
        lambda message: problems.append(message.text) if message.type == "error" else None,
    )
    opened.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((address, "data:", "blob:"))
            else problems.append(request.url)
        ),
    )
    opened.goto(address)
    opened.wait_for_selector(".concordance li")
    yield opened
    context.close()
    assert not problems


def state(page: Any) -> str:
    return str(page.evaluate("decodeURIComponent(location.hash)"))


def lines(page: Any) -> list[str]:
    return [
        text.replace("near", "")
        for text in page.locator(".concordance li:visible").all_inner_texts()
    ]


def test_a_typed_word_is_shown_with_its_concordance(page: Any) -> None:
    assert len(lines(page)) == 23
    page.fill("#word", "dog")
    page.press("#word", "Enter")
    page.wait_for_function("document.querySelectorAll('.concordance li').length === 10")
    assert "word=dog" in state(page)
    page.go_back()
    page.wait_for_function("document.querySelectorAll('.concordance li').length === 23")


def test_a_word_that_the_page_lacks_is_explained(page: Any) -> None:
    page.fill("#word", "zebra")
    page.press("#word", "Enter")
    assert "“zebra” is not among the words of this page" in page.inner_text(".notice")


def test_the_slider_moves_points_and_says_how_much_is_seen(page: Any) -> None:
    pixels = "document.querySelector('canvas').toDataURL()"
    before = page.evaluate(pixels)
    assert "layer 2: the axes hold" in page.inner_text(".plot-axes")
    page.focus("input.layers")
    page.keyboard.press("ArrowLeft")
    assert "layer 1" in page.inner_text(".plot-axes")
    assert "layer=1" in state(page)
    middle = page.evaluate(pixels)
    page.evaluate(
        "const s = document.querySelector('input.layers'); s.value = 0.5;"
        "s.dispatchEvent(new Event('input'))"
    )
    assert len({before, middle, page.evaluate(pixels)}) == 3


def test_a_lasso_picks_uses_and_the_concordance_follows(page: Any) -> None:
    box = page.locator("canvas").bounding_box()
    x, y, w, h = (box[name] for name in ("x", "y", "width", "height"))
    page.mouse.move(x + 1, y + 1)
    page.mouse.down()
    for corner in ((x + w / 2, y + 1), (x + w / 2, y + h - 1), (x + 1, y + h - 1)):
        page.mouse.move(*corner)
    page.mouse.up()
    picked = state(page).partition("picked=")[2].split("&")[0].split(".")
    assert 0 < len(picked) < 23
    assert len(lines(page)) == len(picked)
    assert f"{len(picked)} picked of 23 uses" in page.inner_text(".lines")
    page.keyboard.press("Escape")
    assert len(lines(page)) == 23


def test_points_and_lines_light_up_together(page: Any) -> None:
    page.focus("canvas")
    page.keyboard.press("ArrowRight")
    (hovered,) = page.locator(".concordance li.hovered").all_inner_texts()
    shown = page.inner_text(".tooltip")
    assert shown.split("\n")[0].replace(" ", "") in hovered.replace("near", "").replace(
        " ", ""
    ).replace("\n", "")
    page.hover(".concordance li:nth-child(3)")
    assert page.locator(".concordance li.hovered").get_attribute("data-use") == "2"
    assert "bank" in page.inner_text(".tooltip")
    page.click(".concordance li:nth-child(3)")
    assert state(page).endswith("picked=2")


def test_text_of_the_corpus_is_never_run(page: Any) -> None:
    assert any(HOSTILE in line for line in lines(page))
    assert page.locator("img").count() == 0


def test_colours_can_be_chosen_and_a_label_picked(page: Any) -> None:
    page.click('[data-value="document"]')
    assert "colour=document" in state(page)
    page.click(".legend button:has-text('news-1990.txt')")
    assert len(lines(page)) == 13


def test_what_is_shown_can_be_saved(page: Any) -> None:
    def saved(button: str) -> bytes:
        with page.expect_download() as download:
            page.click(f".downloads button:has-text('{button}')")
        return Path(download.value.path()).read_bytes()

    rows = list(csv.reader(io.StringIO(saved("CSV").decode("utf-8-sig"))))
    assert rows[0][:4] == ["word", "layer", "x", "y"] and len(rows) == 24
    assert saved("PNG").startswith(b"\x89PNG")
    svg = saved("SVG").decode()
    assert svg.startswith("<svg") and svg.count("<path") >= 23


def test_every_view_opens_by_its_key_and_from_its_address(page: Any, address: str) -> None:
    seen = {
        "2": ("expected", ".scroller .guess"),
        "3": ("similarity", ".scroller .cell"),
        "4": ("neighbours", ".near li"),
        "5": ("sides", ".side-1 canvas"),
        "1": ("uses", ".plot canvas"),
    }
    for key, (name, selector) in seen.items():
        page.keyboard.press(key)
        page.wait_for_selector(selector)
        assert page.locator(f"#tab-{name}").get_attribute("aria-selected") == "true"
    page.goto(f"{address}#view=similarity&layer=0")
    page.wait_for_selector(".scroller .cell")
    assert page.locator(".cell").count() == 7 * 7
    data = json.loads(page.evaluate("document.getElementById('exploration').textContent"))
    first = data["explorations"][0]["similarities"][1]["layers"][0][0][0]
    assert page.locator(".cell title").first.text_content().endswith(f"{first:.3f}")


def test_expected_words_and_surprisal_are_those_of_the_data(page: Any) -> None:
    page.keyboard.press("2")
    page.wait_for_selector(".guess")
    assert " ".join(page.locator(".token").all_text_contents()) == SENTENCES[0]
    assert page.locator(".bar").count() == 7 * 3
    page.click('[data-value="forward"]')
    assert page.locator("rect.bar").count() == 7
    assert page.locator(".guess").count() == 7 * 8


def test_two_models_are_linked_use_by_use(page: Any) -> None:
    page.keyboard.press("5")
    page.wait_for_selector(".side-1 .concordance li")
    page.hover(".side-0 .concordance li:nth-child(2)")
    assert page.locator(".side-1 .concordance li.hovered").get_attribute("data-use") == "1"
    assert "correlation over all pairs" in page.inner_text("main")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_in_one_direction_only(browser: Any, address: str, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = context.new_page()
    grounds = set()
    for view in ("uses", "expected", "similarity", "neighbours", "sides"):
        page.goto(f"{address}#view={view}")
        page.wait_for_selector("main > .view")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, view
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 1
    assert (grounds == {"rgb(15, 18, 22)"}) == (scheme == "dark")
    context.close()
