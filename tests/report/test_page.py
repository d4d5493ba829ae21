"""The page: complete, accessible, self-contained, with the numbers of the metrics."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from report.reading import Element, parse
from sklearn.metrics import roc_auc_score

from pauc_lightning.metrics.functional import (
    binary_partial_auc,
    brier_score,
    calibration_error,
    operating_point,
    partial_auc_difference,
    partial_auc_interval,
    tpr_at_fpr,
)
from pauc_lightning.plotting.style import COLOURS
from pauc_lightning.region import Region
from pauc_lightning.report import ScoredSamples
from pauc_lightning.report.page import page
from pauc_lightning.report.run_subject import run_subject
from pauc_lightning.report.subject import Missing, Subject
from pauc_lightning.run_files import SavedScores, read_test_scores

REGION = Region(max_fpr=0.2)


def samples(seed: int = 0, shift: float = 2.0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    label = (np.arange(600) % 6 == 0).astype(np.int64)
    return 1 / (1 + np.exp(-(rng.normal(size=600) + shift * label - 1))), label


def scored(name: str, seed: int = 0, shift: float = 2.0, region: Region = REGION) -> Subject:
    return ScoredSamples(name, *samples(seed, shift), place=f"{name}.csv").subject(region)


@pytest.fixture(scope="module")
def one(trained: Path) -> Element:
    return parse(page([run_subject(trained / "upauci" / "version_0")]))


@pytest.fixture(scope="module")
def two(trained: Path) -> Element:
    return parse(page([run_subject(trained / name / "version_0") for name in ("ce", "upauci")]))


@pytest.fixture(scope="module")
def elsewhere() -> Element:
    return parse(page([scored("mine")]))


@pytest.fixture(params=["one", "two", "elsewhere"])
def any_page(request: pytest.FixtureRequest) -> Element:
    found: Element = request.getfixturevalue(request.param)
    return found


# ------------------------------------------------------------------ structure


def test_nothing_is_loaded_from_elsewhere(any_page: Element) -> None:
    for element in any_page.all():
        assert element.name not in ("script", "link", "iframe", "img", "object", "embed", "base", "form")
        for name, value in element.attributes.items():
            assert not name.startswith("on"), element
            assert "http:" not in value, element
            assert "https:" not in value, element
            assert name not in ("src", "srcset", "xlink:href", "data", "action"), element
            assert name != "href" or value.startswith("#"), element
            assert "url(" not in value, element
    style = any_page.one("style").text
    assert "url(" not in style
    assert "@import" not in style
    policy = next(
        m for m in any_page.all("meta") if m.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.attributes["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_ids_are_unique_and_links_lead_to_them(any_page: Element) -> None:
    ids = [element.attributes["id"] for element in any_page.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    assert {link.attributes["href"][1:] for link in any_page.all("a")} <= set(ids)


def test_headings_do_not_skip_a_level(any_page: Element) -> None:
    levels = [int(element.name[1]) for element in any_page.all() if re.fullmatch(r"h\d", element.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(following <= level + 1 for level, following in itertools.pairwise(levels))


def test_tables_have_headers_and_captions(any_page: Element) -> None:
    tables = any_page.all("table")
    assert tables
    for table in tables:
        assert table.one("caption").text
        header, *rows = table.all("tr")
        columns = header.all("th")
        assert [cell.attributes["scope"] for cell in columns] == ["col"] * len(columns)
        assert rows
        for row in rows:
            assert [cell.attributes["scope"] for cell in row.all("th")] == ["row"]
            assert len(row.all("th")) + len(row.all("td")) == len(columns)


def test_charts_have_words(any_page: Element) -> None:
    charts = any_page.all("svg", "chart")
    assert len(charts) >= 4
    for chart in charts:
        assert chart.attributes["role"] == "img"
        assert len(chart.attributes["aria-label"]) > 20
    for swatch in any_page.all("svg", "swatch"):
        assert swatch.attributes["aria-hidden"] == "true"
    assert any_page.one("html").attributes["lang"] == "en"


def test_charts_have_no_broken_coordinate(any_page: Element) -> None:
    for chart in any_page.all("svg"):
        for element in chart.all():
            drawn = "".join(
                element.attributes.get(name, "") for name in ("d", "x", "y", "cx", "cy", "width", "height")
            )
            assert "nan" not in drawn, element
            assert "inf" not in drawn, element
            assert float(element.attributes.get("width", 0)) >= 0, element


def test_the_palette_is_that_of_the_figures() -> None:
    style = (Path(__file__).parents[2] / "pauc_lightning/report/style.css").read_text()
    light = style.partition("@media")[0]
    found = [re.search(rf"--c{index}-: (#\w+)", light) for index in range(len(COLOURS))]
    assert [match[1].upper() for match in found if match] == [colour.upper() for colour in COLOURS]


@pytest.mark.parametrize("n", [1, 3, 9])
def test_every_model_has_a_look_of_its_own(n: int) -> None:
    style = parse(page([scored(f"model {index}", index) for index in range(n)])).one("style").text
    looks = {re.search(rf"\.c{index}{{([^}}]*)}}", style)[1] for index in range(n)}  # type: ignore[index]
    assert len(looks) == n


# ------------------------------------------------------------------ numbers


def test_the_headline_is_the_metric_with_its_interval(one: Element, trained: Path) -> None:
    found = read_test_scores(trained / "upauci" / "version_0")
    interval = partial_auc_interval(found.score, found.label, 0.2)
    value = float(binary_partial_auc(found.score, found.label, 0.2))
    first, recall, auc, count = one.one("dl", "cards").all("div")
    assert first.one("dt").text == "Partial AUC"
    assert first.one("dd", "value").text == f"{value:.3f}"
    assert first.one("dd", "detail").text == f"95 % interval [{interval.low:.3f}, {interval.high:.3f}]"
    assert recall.one("dd", "value").text == f"{tpr_at_fpr(found.score, found.label, 0.2).tpr:.3f}"
    assert auc.one("dd", "value").text == f"{roc_auc_score(found.label, found.score):.3f}"
    assert (
        count.one("dd", "detail").text
        == f"{found.label.sum()} positives, {(found.label == 0).sum()} negatives"
    )
    assert "test part" in count.text
    assert "at most 20 % of the negatives" in one.one("p", "lead").text
    assert "0.1 is a random score" in one.text


def test_the_curve_that_is_read_off_is_the_roc_curve(elsewhere: Element) -> None:
    score, label = samples()
    table = elsewhere.one("section", id="roc").one("table")
    for rate, recall, interval in table.rows()[1:]:
        fpr = float(rate.removesuffix(" %")) / 100
        called = score >= np.quantile(score[label == 0], 1 - fpr)
        assert float(recall) == pytest.approx(
            called[label == 1].mean(), abs=0.021
        )  # two of a hundred positives
        low, high = map(float, interval.strip("[]").split(", "))
        assert low <= float(recall) <= high


def test_operating_points_are_those_of_the_thresholds(one: Element, trained: Path) -> None:
    found = read_test_scores(trained / "upauci" / "version_0")
    subject = run_subject(trained / "upauci" / "version_0")
    assert not isinstance(subject.thresholds, Missing)
    known = [threshold for threshold in subject.thresholds if np.isfinite(threshold.value)]
    rows = [row for row in one.one("section", id="operating").one("table").rows()[1:] if row[1] != "–"]
    assert len(rows) == len(known) > 0
    for row, threshold in zip(rows, known, strict=True):
        point = operating_point(found.score, found.label, threshold.value)
        assert row[0] == f"≤ {100 * threshold.max_fpr:.3g} %"
        assert row[2] == ("guaranteed" if threshold.is_guaranteed else "empirical")
        assert row[3].startswith(f"{point.fpr:.3f} [")
        assert row[4].startswith(f"{point.tpr:.3f} [")
    assert "chosen on the validation part" in one.one("section", id="operating").text


def test_calibration_has_the_scores_and_the_calibrated_ones(one: Element, trained: Path) -> None:
    found = read_test_scores(trained / "upauci" / "version_0")
    section = one.one("section", id="calibration")
    rows = section.one("table").rows()
    assert rows[1] == [
        "scores",
        f"{brier_score(found.score, found.label):.4f}",
        f"{calibration_error(found.score, found.label):.4f}",
    ]
    calibration = run_subject(trained / "upauci" / "version_0").calibration
    assert not isinstance(calibration, Missing)
    titles = {"platt": "Platt scaling", "temperature": "temperature", "isotonic": "isotonic curve"}
    for row, (name, calibrator) in zip(rows[2:], calibration.calibrators.items(), strict=True):
        assert row[:2] == [titles[name], f"{brier_score(calibrator(found.score), found.label):.4f}"]
    assert len(rows) > 2
    assert all(reason in section.text for reason in calibration.refused.values())
    share = found.label.mean()
    assert f"{share * (1 - share):.4f}" in section.text


def test_the_training_shows_the_best_epoch_and_the_variables(one: Element, trained: Path) -> None:
    import csv

    with (trained / "upauci" / "version_0" / "metrics.csv").open() as file:
        values = {
            int(row["epoch"]): float(row["val/pauc"]) for row in csv.DictReader(file) if row["val/pauc"]
        }
    best = max(values, key=lambda epoch: values[epoch])
    section = one.one("section", id="training")
    assert f"Best: {values[best]:.3f} after epoch {best + 1};" in section.text
    titles = [title.text for title in section.all("p", "title")]
    assert {"On the validation part", "Loss", "a, b and γ", "Selection thresholds", "Gradient norm"} <= set(
        titles
    )


def test_settings_versions_and_commands(one: Element, trained: Path) -> None:
    import torch

    rows = one.one("section", id="settings").one("table").rows()
    assert ["model.max_fpr", "0.2", "0.3"] in rows
    assert ["trainer.max_epochs", "4", "50"] in rows
    assert ["model", "UPAUCI", ""] in rows
    assert not [row for row in rows if row[0] == "model.min_tpr"]  # a default
    config = (trained / "upauci" / "version_0" / "config.yaml").read_text()
    assert one.one("details").one("code").text == " ".join(config.split())
    repeat = one.one("section", id="repeat").text
    assert f"pauc fit -c {trained}/upauci/version_0/config.yaml" in repeat
    assert f"torch {torch.__version__.partition('+')[0]}" in repeat


# ------------------------------------------------------------------ several models


def test_a_comparison_has_paired_differences(two: Element, trained: Path) -> None:
    ce, upauci = (read_test_scores(trained / name / "version_0") for name in ("ce", "upauci"))
    difference = partial_auc_difference(upauci.score, ce.score, ce.label, 0.2)
    table = two.one("section", id="comparison").one("table").rows()
    assert table[0][2] == "Difference to CE"
    assert [row[0] for row in table[1:]] == ["CE", "UPAUCI"]
    assert table[1][2] == "reference"
    signs = f"{difference.value:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]".replace("-", "−")
    said = ("ahead" if difference.value > 0 else "behind") if difference.excludes_zero else "not told apart"
    assert table[2][2] == f"{signs} {said}"
    assert [section.attributes["id"] for section in two.all("section", "model")] == ["run0", "run1"]


def verdicts(*subjects: Subject) -> list[str]:
    return [row[2] for row in parse(page(subjects)).one("section", id="comparison").one("table").rows()[1:]]


def test_ahead_and_behind_are_said_only_where_the_interval_excludes_zero() -> None:
    label = samples()[1]
    noise = np.random.default_rng(9).normal(size=600)
    good = samples(0, 2.5)[0]
    models = {"good": good, "worse": good + noise, "alike": good + 1e-3 * noise}
    reference, *others = [ScoredSamples(name, score, label).subject(REGION) for name, score in models.items()]
    _, worse, alike = verdicts(reference, *others)
    assert worse.endswith("behind")
    assert alike.endswith("not told apart")
    assert verdicts(others[0], reference)[1].endswith("ahead")


def test_models_with_other_samples_have_no_difference() -> None:
    score, label = samples()
    shifted = ScoredSamples("shifted", score, np.roll(label, 1)).subject(REGION)
    shorter = ScoredSamples("shorter", score[:-6], label[:-6]).subject(REGION)
    assert verdicts(scored("first"), shifted, shorter)[1:] == ["other samples", "other samples"]


def test_runs_are_paired_only_if_their_data_are_divided_alike(trained: Path) -> None:
    ce, upauci = (run_subject(trained / name / "version_0") for name in ("ce", "upauci"))
    assert upauci.training is not None
    other_split = replace(upauci, training=replace(upauci.training, fingerprint="another"))
    unknown_split = replace(upauci, training=replace(upauci.training, fingerprint=None))
    assert isinstance(upauci.scores, SavedScores)
    assert upauci.scores.index is not None
    other_index = replace(upauci, scores=replace(upauci.scores, index=upauci.scores.index + 1))
    on_validation = replace(upauci, part="validation")
    for other in (other_split, unknown_split, other_index, on_validation):
        assert verdicts(ce, other)[1] == "other samples"


def test_each_region_has_its_table() -> None:
    narrow, wide = scored("narrow", region=Region(0.1)), scored("wide", region=Region(0.3, 0.5))
    tables = parse(page([narrow, wide])).one("section", id="comparison").all("table")
    score, label = samples()
    for table, region in zip(tables, (Region(0.1), Region(0.3, 0.5)), strict=True):
        value = float(binary_partial_auc(score, label, region.max_fpr, region.min_tpr))
        assert [row[1].split()[0] for row in table.rows()[1:]] == [f"{value:.3f}"] * 2


# ------------------------------------------------------------------ words from users


def test_names_and_paths_cannot_break_the_page() -> None:
    hostile = "</title><script>alert(1)</script>&amp;"
    subject = ScoredSamples(hostile, *samples(), place=f"{hostile}/scores.csv").subject(REGION)
    for subjects in ([subject], [subject, scored("other")]):
        found = parse(page(subjects))
        assert found.all("script") == []
        assert hostile in found.one("title").text
        assert hostile in found.one("header").one("p", "place").text


# ------------------------------------------------------------------ scores of all kinds


@pytest.mark.parametrize(
    "region",
    [Region(), Region(0.01), Region(0.3, 0.5), Region(0.4, 0.0, 0.1)],
    ids=lambda region: str(region.name),
)
def test_every_kind_of_region(region: Region) -> None:
    found = parse(page([scored("any", region=region)]))
    score, label = samples()
    value = float(binary_partial_auc(score, label, region.max_fpr, region.min_tpr, region.min_fpr))
    assert found.one("dl", "cards").all("dd", "value")[0].text == f"{value:.3f}"


@pytest.mark.parametrize(
    "change",
    [
        lambda score: np.round(score, 1),
        lambda score: np.full_like(score, 0.5),
        lambda score: np.where(score > 0.5, 1.0, 0.0),
        lambda score: 10 * np.log(score / (1 - score)),
        lambda score: 1 / (1 + np.exp(-20 * (score - 0.5))) ** 9,
        lambda score: -1e6 * score,
        lambda score: score * 1e-12,
    ],
    ids=["ties", "constant", "0 and 1", "logits", "crowded", "huge", "tiny"],
)
def test_scores_of_any_kind_make_a_page(change: object) -> None:
    assert callable(change)
    score, label = samples()
    found = parse(page([ScoredSamples("odd", change(score), label).subject(REGION)]))
    value = float(binary_partial_auc(change(score), label, 0.2))
    assert found.one("dl", "cards").all("dd", "value")[0].text == f"{value:.3f}"
    for chart in found.all("svg"):
        for element in chart.all("path"):
            assert "nan" not in element.attributes["d"]
