"""Names that are too long are broken into lines, then shortened, and stay different."""

from __future__ import annotations

import pytest

from pauc_lightning.plotting.fitting import fitted, fitted_names, length, wrapped


@pytest.mark.parametrize("lines", [1, 2, 3])
@pytest.mark.parametrize("text", ["iiiiiiiiii WWWWWWWWWW " * 9, "x" * 500, "$" * 90, "猫" * 80, "a b"])
@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_name_stays_in_its_room(text: str, lines: int) -> None:
    shown = fitted(text, 1.2, 7.0, lines).split("\n")
    assert len(shown) <= lines
    assert all(length(line, 7.0) <= 1.2 for line in shown)
    together = "".join("".join(shown).split())
    if "…" in together:
        first, last = together.split("…")
        assert "".join(text.split()).startswith(first)
        assert "".join(text.split()).endswith(last)
        assert length(" ".join(shown), 7.0) > 0.6 * 1.2 * lines  # no more is left out than necessary
    else:
        assert together == "".join(text.split())


def test_a_name_that_fits_is_as_it_was() -> None:
    assert fitted("two  spaces ", 2.0, 7.0) == wrapped("two  spaces ", 2.0, 7.0) == "two  spaces "


@pytest.mark.parametrize(
    "form",
    [
        "{} at the start of a long name",
        "at the end of a name: {}",
        "a name with {} right in its middle",
        "{0}{0}",
    ],
)
def test_different_names_stay_different(form: str) -> None:
    names = [form.format(word) for word in ("w" * 30 + "1" + "w" * 30, "w" * 30 + "2" + "w" * 30, "short")]
    shown = fitted_names(names, 0.8, 7.0)
    assert len(set(shown.values())) == 3
    assert all(length(text, 7.0) <= 0.8 for text in shown.values())
