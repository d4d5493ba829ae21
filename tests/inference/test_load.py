"""A loaded model scores as `pauc predict` does, whatever the samples come as and wherever the run is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import torch
from inference.runs import CONFIGS, fit, image_run, make_images, patients, predicted, table_run
from PIL import Image

import pauc_lightning
from pauc_lightning import InputError, load
from pauc_lightning.calibration import read_calibration
from pauc_lightning.models import MLPScorer

NETWORK = """
from torch import nn
from {helper} import width

class Wide(nn.Module):
    def __init__(self, hidden: int = 5) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.LazyLinear(hidden + width), nn.ReLU(), nn.LazyLinear(1))

    def forward(self, input):
        return self.layers(input)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a table; the training file is gone, and what `pauc predict` says about other rows is beside it."""
    folder = tmp_path_factory.mktemp("table")
    run = table_run(folder)
    (folder / "patients.csv").unlink()
    patients(1).drop(columns="outcome").to_csv(folder / "new.csv", index=False)
    predicted(run, folder / "scores.csv", f"--input={folder / 'new.csv'}", "--calibrate")
    return run


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on images, which are gone; new ones are beside it, with their scores."""
    folder = tmp_path_factory.mktemp("images")
    run = image_run(folder)
    shutil.rmtree(folder / "images")
    make_images(folder / "new", seed=1, size=30)
    predicted(run, folder / "scores.csv", f"--input={folder / 'new'}")
    return run


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new_patients() -> pd.DataFrame:
    return patients(1).drop(columns="outcome")


# ---------------------------------------------------------------------- tables


def test_a_data_frame_is_scored_as_the_file(table: Path, elsewhere: Path) -> None:
    model = load(table)
    expected = pd.read_csv(table.parent / "scores.csv")
    frame = new_patients()
    assert model.score(frame).tolist() == expected["score"].tolist()
    assert model.predict_proba(frame)[:, 1].tolist() == expected["probability"].tolist()
    assert model.predict_proba(frame).sum(axis=1) == pytest.approx(1)
    assert model.score(table.parent / "new.csv").tolist() == expected["score"].tolist()
    assert model.columns == ["age", "seen", "city", "ward", "code", "pressure"]
    assert model.region.max_fpr == 0.3


def test_decisions_are_those_of_predict(table: Path, elsewhere: Path) -> None:
    model = load(table)
    new = f"--input={table.parent / 'new.csv'}"
    for target, options, kind, delta in (
        (0.05, ["--target_fpr=0.05"], None, None),
        (0.05, ["--target_fpr=0.05", "--threshold=empirical"], "empirical", None),
        (0.2, ["--target_fpr=0.2", "--threshold=guaranteed", "--delta=0.3"], "guaranteed", 0.3),
    ):
        expected = predicted(table, elsewhere / "decided.csv", new, *options)
        decided = model.decide(new_patients(), target, kind, delta)
        assert decided.dtype == bool
        assert decided.astype(int).tolist() == expected["decision"].tolist()
        assert 0 < decided.sum() < len(decided)
        assert (
            model.score(new_patients()) >= model.threshold(target, kind, delta)
        ).tolist() == decided.tolist()
    with pytest.raises(InputError, match=r"takes at least 2,995 negatives"):
        model.decide(new_patients(), target_fpr=0.001, threshold="guaranteed")
    with pytest.raises(InputError, match="`target_fpr` must be a finite number in"):
        model.decide(new_patients(), target_fpr=1)
    with pytest.raises(InputError, match="`threshold` must be one of guaranteed, empirical"):
        model.decide(new_patients(), target_fpr=0.1, threshold="plain")


def test_other_columns_orders_and_forms_make_no_difference(table: Path, elsewhere: Path) -> None:
    model = load(table, batch_size=7)
    frame = new_patients().iloc[:50]
    before = frame.copy()
    expected = pd.read_csv(table.parent / "scores.csv")["score"].to_numpy()[:50]
    shuffled = frame[frame.columns[::-1]].assign(comment="x").set_index("patient")
    for form in (
        frame,
        shuffled,
        frame.rename(columns={"age": " age "}),
        frame.to_dict("records"),
        frame.to_dict("list"),
        frame[model.columns].to_numpy(dtype=object),
        frame.convert_dtypes(),
    ):
        np.testing.assert_allclose(model.score(form), expected, rtol=1e-6)
    one = frame.to_dict("records")[3]
    assert model.score(one) == pytest.approx([expected[3]], rel=1e-6)
    pd.testing.assert_frame_equal(frame, before)
    assert model.score(frame.iloc[:0]).shape == (0,)
    assert model.predict_proba(frame.iloc[:0]).shape == (0, 2)


def test_rows_that_do_not_fit_are_refused(table: Path, elsewhere: Path) -> None:
    model = load(table)
    frame = new_patients()
    with pytest.raises(
        InputError, match="the table lacks the columns age, code that the model was trained with"
    ):
        model.score(frame.drop(columns=["age", "code"]))
    with pytest.raises(InputError, match="'age' of the table has 'old' in 1 of 900 rows"):
        model.score(frame.assign(age=["old", *frame["age"][1:]]))
    with pytest.raises(InputError, match="infinite"):
        model.score(frame.assign(seen=np.inf))
    with pytest.raises(InputError, match=r"the columns city, code hold text.*give a data frame"):
        model.score(np.zeros((3, 6)))
    with pytest.raises(
        InputError, match=r"the 6 columns age, .* in this order, got an array of shape \(3, 5\)"
    ):
        model.score(np.full((3, 5), "x"))
    copy = Path(shutil.copytree(table, elsewhere / "copy"))
    (copy / "preprocessing.json").write_text("{}")
    with pytest.raises(InputError, match="was not written by a run"):
        load(copy)
    (copy / "preprocessing.json").unlink()
    with pytest.raises(InputError, match="which says how a table becomes inputs"):
        load(copy)
    with pytest.raises(InputError, match=r"nothing.csv`: no such file"):
        model.score("nothing.csv")
    with pytest.raises(InputError, match=r"the model takes a data frame, .* got object"):
        model.score(object())


# ---------------------------------------------------------------------- images


def test_images_are_scored_from_files_folders_arrays_and_pil(images: Path, elsewhere: Path) -> None:
    model = load(images)
    folder = images.parent / "new"
    expected = pd.read_csv(images.parent / "scores.csv")
    files = [folder / name for name in expected["file"]]
    scores = expected["score"].to_numpy()
    np.testing.assert_allclose(model.score(folder), scores, rtol=1e-6)
    np.testing.assert_allclose(model.score(files[::-1]), scores[::-1], rtol=1e-6)
    assert model.score(str(files[3])) == pytest.approx([scores[3]], rel=1e-6)
    pictures = [Image.open(file) for file in files]
    np.testing.assert_allclose(model.score(pictures), scores, rtol=1e-6)
    pixels = np.stack([np.asarray(picture) for picture in pictures]).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(model.score(pixels), scores, rtol=1e-6)


def test_bytes_and_fractions_of_the_right_size_are_the_same(images: Path, elsewhere: Path) -> None:
    model = load(images)
    pixels = torch.randint(
        0, 256, (5, 3, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    fractions = pixels / 255
    before = fractions.clone()
    np.testing.assert_allclose(model.score(pixels), model.score(fractions), rtol=1e-6)
    np.testing.assert_allclose(model.score(pixels), model.score(fractions.double().numpy()), rtol=1e-6)
    assert torch.equal(fractions, before)  # the transform works in place, but not here


def test_images_that_do_not_fit_are_refused(images: Path, elsewhere: Path) -> None:
    model = load(images)
    for samples, said in (
        (np.zeros((2, 16, 16, 3), np.uint8), "the channels come first"),
        (np.zeros((3, 16, 16), np.uint8), r"one image is images\[None\]"),
        (np.zeros((2, 1, 16, 16), np.uint8), r"got shape \(2, 1, 16, 16\)"),
        (np.full((2, 3, 16, 16), 200.0), "divide them by 255"),
        (np.full((2, 3, 16, 16), np.nan), "divide them by 255"),
        (np.zeros((2, 3, 16, 16), np.int64), "convert to uint8"),
        (np.zeros((2, 3, 20, 20)), "give bytes .uint8. or files, which are scaled"),
        (["a.png"], "a.png`: no such file"),
        (Image.new("RGB", (16, 16)), r"give a list, \[image\]"),
    ):
        with pytest.raises(InputError, match=said):
            model.score(samples)
    (elsewhere / "broken.png").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"cannot read the image .*broken.png"):
        model.score(elsewhere / "broken.png")


# ---------------------------------------------------------------------- a network of one's own


def own_run(folder: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with a network that is defined in two files in ``folder``."""
    folder.mkdir()
    (folder / "nets.py").write_text(NETWORK.format(helper="net_parts"))
    (folder / "net_parts.py").write_text(f"width = {width}\n")
    (folder / "unrelated.py").write_text("secret = 1\n")
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        run = fit(
            folder,
            f"-c={CONFIGS / 'data/digits.yaml'}",
            f"-c={CONFIGS / 'method/ce.yaml'}",
            "--model.backbone=nets.Wide",
            "--model.backbone.hidden=4",
            epochs=1,
        )
    for name in ("nets", "net_parts"):
        sys.modules.pop(name, None)
    return run


def test_a_network_of_ones_own_comes_with_the_run(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = (own_run(tmp_path / f"made{width}", width, monkeypatch) for width in (3, 6))
    assert sorted(path.name for path in (run / "code").iterdir()) == ["net_parts.py", "nets.py"]
    digits = torch.randn(5, 1, 8, 8)
    with pytest.raises(
        InputError, match=r"`nets.Wide`.*cannot be imported.*if you trust its author.*trust_code=True"
    ):
        load(run)
    model, second = load(run, trust_code=True), load(other, trust_code=True)
    assert [next(one.network.parameters()).shape[0] for one in (model, second)] == [7, 10]
    assert not {"nets", "net_parts"} & sys.modules.keys()
    assert str(run / "code") not in sys.path
    assert model.score(digits).shape == (5,)
    # From the directory of the files it needs no trust; a copy that was moved does not need the files.
    monkeypatch.syspath_prepend(tmp_path / "made3")
    assert load(run).score(digits).tolist() == model.score(digits).tolist()
    for name in ("nets", "net_parts"):
        sys.modules.pop(name, None)
    with pytest.raises(InputError, match="weights do not fit the network MLPScorer"):
        load(run, backbone=MLPScorer((2,)))


# ---------------------------------------------------------------------- tensors, and the run itself


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fit(
        tmp_path_factory.mktemp("digits"),
        f"-c={CONFIGS / 'data/digits.yaml'}",
        f"-c={CONFIGS / 'method/upauci.yaml'}",
        "--model.warmup_epochs=1",
        "--trainer.precision=64-true",
    )


def test_tensors_arrays_and_lists_in_double_precision(digits: Path, elsewhere: Path) -> None:
    model = load(digits)
    assert next(model.network.parameters()).dtype == torch.float64
    values = torch.randn(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    expected = model.network(values.double()).squeeze(1).sigmoid().numpy()
    for form in (values, values.numpy(), values.tolist(), list(values), values.half().float().double()):
        np.testing.assert_allclose(model.score(form), expected, rtol=1e-2)
    assert model.score(values).tolist() == expected.tolist()
    assert model.score(values[:0]).shape == (0,)
    for samples, said in (
        (values[0], r"got shape \(1, 8, 8\) \(one sample is samples\[None\]\)"),
        (values[..., :4], r"of shape \(n, 1, 8, 8\), got shape \(6, 1, 8, 4\)"),
        ("a.csv", "no such file"),
        ([[1.0, 2.0], [3.0]], "the model takes a tensor or an array"),
    ):
        with pytest.raises(InputError, match=said):
            model.score(samples)
    values[4] = np.nan
    with pytest.raises(
        InputError, match="1 of 6 samples have a score that is not finite, the first at position 4"
    ):
        model.score(values)


def test_the_calibrators_and_the_prior_of_the_caller(digits: Path, elsewhere: Path) -> None:
    values = torch.randn(20, 1, 8, 8)
    scores = load(digits).score(values)
    for method in ("platt", "isotonic"):
        model = load(digits, calibrate=method, prior=0.001)
        expected = read_calibration(digits).method(method)(scores, prior=0.001)
        assert model.predict_proba(values)[:, 1].tolist() == expected.tolist()


def test_the_last_model_ranks_only(digits: Path, elsewhere: Path) -> None:
    model = load(digits, checkpoint="last")
    assert model.score(torch.zeros(2, 1, 8, 8)).shape == (2,)
    with pytest.raises(InputError, match="calibration belongs to the run's best model"):
        model.predict_proba(torch.zeros(2, 1, 8, 8))
    with pytest.raises(InputError, match="thresholds belong to the run's best model"):
        model.decide(torch.zeros(2, 1, 8, 8), target_fpr=0.1)


def test_mistakes_are_named(digits: Path, elsewhere: Path) -> None:
    for arguments, said in (
        ({"run": "nothing"}, "`nothing`: no such run"),
        ({"run": ""}, "`run` must be the path"),
        ({"run": digits.parent}, "is not a run: it has no config.yaml"),
        ({"run": digits, "calibrate": "plat"}, "`calibrate` must be one of platt"),
        ({"run": digits, "prior": 3}, "`prior` must be"),
        ({"run": digits, "device": "gpu7"}, "`device=gpu7` cannot be used"),
        ({"run": digits, "checkpoint": "first"}, "`checkpoint` must be one of best, last"),
        ({"run": digits, "batch_size": 0}, "`batch_size`"),
        ({"run": digits, "backbone": MLPScorer}, "pass an instance"),
    ):
        with pytest.raises(InputError, match=said):
            load(**arguments)


def test_damaged_runs_are_refused(digits: Path, elsewhere: Path) -> None:
    for name, text, said in (
        ("config.yaml", "a: [", "cannot be read"),
        ("config.yaml", "a: 1", "is not the config of a run"),
        ("config.yaml", "model: null\ndata: null", "cannot be imported"),
    ):
        copy = Path(shutil.copytree(digits, elsewhere / "copy"))
        (copy / name).write_text(text)
        with pytest.raises(InputError, match=said):
            load(copy).score(torch.zeros(1, 1, 8, 8))
        shutil.rmtree(copy)
    copy = Path(shutil.copytree(digits, elsewhere / "copy"))
    (copy / "calibration.json").write_text(json.dumps({"format": "x"}))
    model = load(copy)
    assert model.score(torch.zeros(1, 1, 8, 8)).shape == (1,)
    with pytest.raises(InputError, match="not a calibration"):
        model.predict_proba(torch.zeros(1, 1, 8, 8))


def test_importing_the_package_stays_light() -> None:
    code = (
        "import sys, pauc_lightning; light = not {'torch', 'lightning', 'numpy'} & sys.modules.keys()\n"
        "assert light and 'load' in dir(pauc_lightning); pauc_lightning.load; assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert pauc_lightning.load is load
