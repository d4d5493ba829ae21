"""HTML is escaped by construction."""

from __future__ import annotations

import pytest
from report.reading import parse

from pauc_lightning.report.html import Html, element

HOSTILE = "</td><script>alert('x')</script>\" onload=\"alert(1) & <b>"


def test_text_and_attributes_come_back_as_they_were() -> None:
    page = parse(element("p", HOSTILE, element("i", HOSTILE, title=HOSTILE), [HOSTILE, None, (HOSTILE,)]))
    paragraph = page.one("p")
    assert paragraph.text == HOSTILE + HOSTILE + HOSTILE + HOSTILE
    assert page.one("i").attributes == {"title": HOSTILE}
    assert page.all("script") == []


def test_html_is_taken_as_it_is_but_joining_it_with_text_is_text_again() -> None:
    bold = element("b", "x")
    assert element("p", bold) == "<p><b>x</b></p>"
    assert element("p", bold + "<") == "<p>&lt;b&gt;x&lt;/b&gt;&lt;</p>"  # str + str is no longer Html
    assert isinstance(bold, Html)


@pytest.mark.parametrize(
    ("attributes", "written"),
    [
        ({"class_": "a b"}, '<p class="a b"></p>'),
        ({"data_column": "x"}, '<p data-column="x"></p>'),
        ({"hidden": True, "title": None, "open": False}, "<p hidden></p>"),
        ({"x": 0}, '<p x="0"></p>'),
    ],
)
def test_attributes(attributes: dict[str, str | bool | int | None], written: str) -> None:
    assert element("p", **attributes) == written


def test_void_elements_have_no_end() -> None:
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'
