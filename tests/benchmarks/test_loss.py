"""The benchmark of the losses: what is timed, and that the tables say what was measured."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from pauc_lightning import Region
from pauc_lightning.benchmarks import loss
from pauc_lightning.benchmarks.contenders import REFERENCE, Contender, contenders, versions
from pauc_lightning.benchmarks.loss import REGIONS, Measurement, Times
from pauc_lightning.benchmarks.loss_tables import tables
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.paper import published_time

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("timings") / "new"
    threads = torch.get_num_threads()
    loss.main(["--sizes", "128", "64", "--seconds", "0", "--repeats", "3", "--out", str(folder)])
    assert torch.get_num_threads() == threads
    return folder


def blocks(folder: Path) -> list[list[str]]:
    return [block.splitlines() for block in (folder / "loss.txt").read_text().split("\n\n")]


def test_every_method_and_both_regions_of_the_paper_are_timed(saved: Path) -> None:
    with (saved / "loss.csv").open() as file:
        rows = list(csv.DictReader(file))
    for region in REGIONS:
        names = [contender.name for contender in contenders(region, CPU)]
        of_region = [row for row in rows if float(row["min_tpr"]) == region.min_tpr]
        assert {row["n"] for row in of_region} == {"64", "128"}
        assert list(dict.fromkeys(row["loss"] for row in of_region)) == names
        for row in of_region:
            both = row["pass"] == "forward and backward"
            assert (
                0 < float(row["quartile_low_ms"]) <= float(row["median_ms"]) <= float(row["quartile_high_ms"])
            )
            reference = next(
                float(other["median_ms"])
                for other in of_region
                if (other["loss"], other["n"], other["pass"]) == (REFERENCE, row["n"], row["pass"])
            )
            assert float(row["ratio_to_ce"]) == pytest.approx(float(row["median_ms"]) / reference)
            assert not (both and row["paper_ms"])
    sopa = next(row for row in rows if (row["loss"], row["n"]) == ("SOPA", "64"))
    published = published_time("sopa", Region(max_fpr=0.3), 64, 64)
    assert published is not None
    assert float(sopa["paper_ms"]) == published.milliseconds
    for name in ("loss.png", "loss.pdf"):
        assert (saved / name).stat().st_size > 5000


def test_all_methods_of_the_project_are_contenders() -> None:
    methods = {
        path.stem for path in Path(__file__).parents[2].glob("configs/method/*.yaml") if "." not in path.stem
    }
    timed = {contender.method for contender in contenders(Region(0.3), CPU)}
    assert methods - timed == {"ce_cosine"}  # cross-entropy with another schedule


def test_the_tables_are_what_was_measured() -> None:
    (ce, pauci, *_) = [c for c in contenders(Region(0.3), CPU) if c.name in ("CE", "PAUCI", "SOPA")]
    sopa = next(c for c in contenders(Region(0.3), CPU) if c.name == "SOPA")

    def at(contender: Contender, n: int, *ms: float) -> Measurement:
        forward, both = (Times(tuple(m / unit for m in ms)) for unit in (2e3, 1e3))
        return Measurement(contender, Region(0.3), n, forward, both)

    text = tables(
        [
            *(at(ce, 64, 1, 2, 3), at(pauci, 64, 4, 4, 8), at(sopa, 64, 1, 1, 1)),
            *(at(ce, 256, 1, 2, 3), at(pauci, 256, 10, 16, 16)),
        ]
    )
    forward, both, ratios, beside = (block.splitlines() for block in text.split("\n\n"))
    assert both[1].split() == ["n", "64", "256", "exponent"]
    assert [line.split() for line in both[2:]] == [
        ["CE", "2.000", "2.000", "0.00"],
        ["PAUCI", "4.000", "16.000", "1.00"],
        ["SOPA", "1.000", "–", "–"],
    ]
    assert forward[3].split() == ["PAUCI", "2.000", "8.000", "1.00"]
    assert ratios[3].split() == [
        *("PAUCI", "2.00", "(2.00", "to", "3.00)"),
        *("8.00", "(6.50", "to", "8.00)"),
    ]
    assert "at n = 256" in beside[0]
    assert re.split(r"\s{2,}", beside[3].strip()) == ["PAUCI", "8.000 / 16.000", "0.033"]
    assert not any(line.startswith("SOPA") for line in beside)


def test_what_is_missing_is_explained(saved: Path) -> None:
    header, *rows = blocks(saved)[0][1:]
    assert header.split() == ["n", "64", "128", "exponent"]
    assert len(rows) == len(contenders(REGIONS[0], CPU))
    assert any("–: not timed" in line for line in blocks(saved)[-1])


def test_what_is_timed_is_a_loss_with_a_gradient() -> None:
    n = 16
    generator = torch.Generator().manual_seed(0)
    index = torch.randperm(2 * n, generator=generator)
    target = (index < n).float()
    for region in REGIONS:
        for contender in contenders(region, CPU):
            scores = torch.rand(2 * n, generator=generator).requires_grad_()
            value = contender.make(2 * n)(scores, target, index)
            assert value.numel() == 1
            torch.autograd.backward(value)
            assert scores.grad is not None
            assert (scores.grad != 0).any(), contender.name


def test_other_libraries_compute_what_ours_do() -> None:
    """LibAUC's CVaR loss is our SOPA with its surrogate; both start with thresholds at 0. XCurve's is our PAUCI."""
    auc = pytest.importorskip("libauc.losses.auc")
    n = 50
    rng = np.random.default_rng(0)
    index, scores = torch.arange(2 * n), torch.from_numpy(rng.random(2 * n, np.float32))
    target = (index < n).float()
    values = {c.name: c.make(2 * n)(scores, target, index).item() for c in contenders(Region(0.3), CPU)}
    assert values["SOPA (LibAUC)"] == pytest.approx(values["SOPA"], rel=1e-6)
    assert values["SOPA (LibAUC, patched)"] == values["SOPA (LibAUC)"]
    assert not hasattr(auc, "sum")  # the library is as it was
    pytest.importorskip("XCurve")
    f_pos, f_neg = scores[:n].numpy(), scores[n:].numpy()
    a = b = s = 0.5  # where XCurve starts, with gamma = 1, kappa = 2 and no multiplier
    excess = (f_neg - b) ** 2 + 4 * f_neg - s
    softplus = np.log1p(np.exp(2 * excess)) / 2
    by_hand = ((f_pos - a) ** 2 - 4 * f_pos).mean() + s + softplus.mean() / 0.3 - 1
    assert values["PAUCI (XCurve)"] == pytest.approx(by_hand, rel=1e-5)


def test_pairs_are_not_timed_where_they_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "LARGEST", {"none": None, "blocks": 32, "table": 8})
    timed = {n: {found.contender for found in loss.measure(Region(0.3), n, CPU, 0, 2)} for n in (8, 32, 33)}
    kinds = {n: {contender.pairs for contender in found} for n, found in timed.items()}
    assert kinds[8] >= {"none", "blocks"}
    assert kinds[32] == {"none", "blocks"}
    assert kinds[33] == {"none"}


def test_versions_are_named() -> None:
    assert f"torch {torch.__version__}" in versions()


def test_where_nothing_can_be_saved_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss, "measure", lambda *arguments: pytest.fail("measured"))
    file = tmp_path / "claims.csv"
    file.touch()
    for out in (file, file / "below"):
        with pytest.raises(
            InputError, match=f"`--out {out}`: {file} is a file. Give the name of a directory"
        ):
            loss.main(["--out", str(out)])
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(InputError, match=f"{tmp_path} may not be written to"):
        loss.main(["--out", str(tmp_path / "new")])
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--sizes", "1"], "--sizes"),
        (["--repeats", "1"], "--repeats"),
        (["--seconds", "-1"], "--seconds"),
        (["--device", "toaster"], "--device toaster"),
        (["--figure", "x.png"], "--figure"),
    ],
)
def test_mistakes(options: list[str], named: str) -> None:
    with pytest.raises(InputError, match=re.escape(named)):
        loss.main(options)
