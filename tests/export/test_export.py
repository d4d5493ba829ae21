"""An exported file gives what `pauc predict` gives, without the run; what cannot be represented is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
import pandas as pd  # type: ignore[import-untyped]
import pytest
import torch
from inference.runs import CONFIGS, fit, image_run, make_images, patients, predicted, table_run
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.torch_version import TorchVersion

from pauc_lightning import load
from pauc_lightning.calibration import (
    Calibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)
from pauc_lightning.cli import main
from pauc_lightning.errors import InputError
from pauc_lightning.export.calibration_step import CalibrationStep
from pauc_lightning.export.chain import ScoringChain
from pauc_lightning.export.checking import Expected, check
from pauc_lightning.export.onnx_file import OnnxRunner, onnx_bytes
from pauc_lightning.export.tensor_front import TensorFront
from pauc_lightning.export.test_samples import TestSamples
from pauc_lightning.export.torch_file import OLDEST_TORCH, TorchRunner, torch_bytes, traced

pytestmark = pytest.mark.skipif(
    TorchVersion(torch.__version__) < OLDEST_TORCH, reason="this torch writes no ONNX files from programs"
)
DECIDE = ("--target_fpr=0.05", "--threshold=empirical")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a table with text, numbers, missing values and values that stand for missing ones."""
    return table_run(tmp_path_factory.mktemp("table"))


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_run(tmp_path_factory.mktemp("images"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def export(run: Path, *options: str) -> None:
    main(["export", str(run), *options])


def refused(capsys: pytest.CaptureFixture[str], run: Path | str, *options: str) -> str:
    with pytest.raises(SystemExit) as exit_:
        main(["export", str(run), *options])
    said = capsys.readouterr().err
    assert exit_.value.code == 2
    assert "Traceback" not in said
    return said[said.index("error: ") :]


def run_onnx(path: Path, inputs: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def about(path: Path) -> dict[str, Any]:
    (entry,) = onnx.load(path).metadata_props
    assert entry.key == "pauc"
    found: dict[str, Any] = json.loads(entry.value)
    return found


def as_inputs(frame: pd.DataFrame, described: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """What a user of the file would write, knowing only its description."""
    categories = list(described["categories"])
    return {
        "numbers": frame[described["numbers"]].to_numpy(dtype=np.float64),
        "categories": frame[categories]
        .astype(object)
        .where(frame[categories].notna(), "")
        .astype(str)
        .to_numpy(object),
    }


# ---------------------------------------------------------------------- tables


@pytest.mark.parametrize("method", ["platt", "temperature", "isotonic"])
def test_an_onnx_file_of_a_table_is_the_run(
    table: Path, here: Path, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    export(table, f"--calibrate={method}", "--prior=0.05", *DECIDE, "--output=m.onnx")
    said = capsys.readouterr().out
    n = len(predicted(table, here / "test.csv"))
    assert f"on all {n} samples of the test part: the largest difference" in said
    assert f"all {n} decisions are equal" in said
    assert "in          numbers (n, 3) float64 and categories (n, 3) text" in said

    new = patients(1).drop(columns="outcome")
    new.loc[0, "city"] = "Paris"  # which the training file does not have
    new.to_csv(here / "new.csv", index=False)
    options = (f"--calibrate={method}", "--prior=0.05", *DECIDE)
    expected = predicted(table, here / "scores.csv", f"--input={here / 'new.csv'}", *options)
    found = run_onnx(here / "m.onnx", as_inputs(new, about(here / "m.onnx")["inputs"]))
    assert list(found) == ["score", "probability", "decision"]
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-5)
    np.testing.assert_allclose(found["probability"], expected["probability"], rtol=1e-4)
    assert found["decision"].astype(int).tolist() == expected["decision"].tolist()
    assert found["score"].dtype == np.float64
    assert 0 < found["decision"].sum() < len(new)

    one = run_onnx(here / "m.onnx", as_inputs(new.iloc[:1], about(here / "m.onnx")["inputs"]))
    assert one["score"] == pytest.approx(expected["score"][:1], rel=1e-5)


def test_the_file_says_what_it_takes_and_gives_and_nothing_about_this_machine(
    table: Path, here: Path
) -> None:
    export(table, *DECIDE)
    described = about(here / "model.onnx")
    assert described["inputs"]["numbers"] == ["age", "seen", "pressure"]
    assert described["inputs"]["categories"]["code"] == ["01", "02", "x"]
    assert described["inputs"]["missing"] == "impute"
    assert described["outputs"]["decision"]["threshold"] == load(table).threshold(0.05, "empirical")
    assert described["outputs"]["decision"]["kind"] == "empirical"
    assert described["outputs"]["probability"]["calibrated_by"] == "platt"
    onnx.checker.check_model(onnx.load(here / "model.onnx"))
    export(table, "--format=torch")
    for name in ("model.onnx", "model.pt2"):
        content = (here / name).read_bytes()
        assert str(Path(__file__).parents[2]).encode() not in content
        assert b"site-packages" not in content


def test_a_torch_file_takes_codes(table: Path, here: Path) -> None:
    export(table, *DECIDE, "--output=m.pt2", "--calibrate=isotonic")
    extra = {"pauc.json": ""}
    module = torch.export.load(here / "m.pt2", extra_files=extra).module()
    described = json.loads(extra["pauc.json"])
    assert described["category_codes"]["unknown"] == -1
    new = patients(1)
    inputs = as_inputs(new, described["inputs"])
    lists = described["inputs"]["categories"].values()
    codes = [
        [known.index(text) if text in known else -1 for text in column]
        for known, column in zip(lists, inputs["categories"].T, strict=True)
    ]
    score, probability, decision = module(torch.from_numpy(inputs["numbers"]), torch.tensor(codes).T)
    model = load(table, calibrate="isotonic")
    np.testing.assert_allclose(score.numpy(), model.score(new), rtol=1e-6)
    np.testing.assert_allclose(probability.numpy(), model.predict_proba(new)[:, 1], rtol=1e-6)
    assert decision.tolist() == model.decide(new, 0.05, "empirical").tolist()


def test_rows_that_predict_refuses_get_no_score(tmp_path_factory: pytest.TempPathFactory, here: Path) -> None:
    folder = tmp_path_factory.mktemp("strict")
    frame = patients()[["seen", "ward", "outcome"]]
    frame.to_csv(folder / "strict.csv", index=False)
    run = fit(
        folder,
        f"-c={CONFIGS / 'data/tabular.yaml'}",
        f"-c={CONFIGS / 'method/ce.yaml'}",
        f"--data.init_args.path={folder / 'strict.csv'}",
        "--data.init_args.label=outcome",
        "--data.init_args.positive_values=[yes]",
        "--data.init_args.categorical=[ward]",
        "--data.init_args.batch_size=64",
    )
    export(run, *DECIDE)
    numbers = np.array([[1.7e9], [np.nan], [np.inf], [1.7e9], [1.7e9]])
    wards = np.array([["1"], ["1"], ["1"], [""], ["9"]], dtype=object)
    found = run_onnx(here / "model.onnx", {"numbers": numbers, "categories": wards})
    assert np.isnan(found["score"]).tolist() == [False, True, True, True, False]
    assert np.isnan(found["probability"]).tolist() == [False, True, True, True, False]
    assert not found["decision"][1:4].any()

    # Only numbers, and no calibration and threshold.
    copy = Path(shutil.copytree(run, here / "copy"))
    (copy / "calibration.json").unlink()
    export(copy, "--calibrate=none", "--output=plain.onnx")
    assert list(run_onnx(here / "plain.onnx", {"numbers": numbers, "categories": wards})) == ["score"]


def test_data_that_are_gone_or_changed_are_named(
    table: Path, here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    original = table.parent / "patients.csv"
    kept = original.rename(tmp_path / "kept.csv")
    said = refused(capsys, table)
    assert "cannot be checked on the run's test part" in said
    assert "no such file" in said
    assert "add `--input`" in said
    patients(2).to_csv(original, index=False)
    assert "the data are not those that the run was trained on" in refused(capsys, table)
    assert not (here / "model.onnx").exists()
    patients(3).to_csv(here / "other.csv", index=False)
    export(table, "--input=other.csv")
    assert "on 900 samples of other.csv" in capsys.readouterr().out
    original.unlink()
    kept.rename(original)


# ---------------------------------------------------------------------- images and networks of one's own


@pytest.mark.parametrize("name", ["model.onnx", "model.pt2"])
def test_images_are_bytes_of_the_training_size(
    images: Path, here: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    export(images, f"--output={name}", "--target_fpr=0.3", "--threshold=empirical")
    assert "images (n, 3, 16, 16) uint8" in capsys.readouterr().out
    make_images(here / "new", seed=3, size=16)
    pixels = torch.randint(
        0, 256, (7, 3, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    if name.endswith(".onnx"):
        found = list(run_onnx(here / name, {"images": pixels.numpy()}).values())
    else:
        found = [one.numpy() for one in torch.export.load(here / name).module()(pixels)]
    model = load(images)
    np.testing.assert_allclose(found[0], model.score(pixels), rtol=1e-4)
    np.testing.assert_allclose(found[1], model.predict_proba(pixels)[:, 1], rtol=1e-4)
    assert found[2].tolist() == model.decide(pixels, 0.3, "empirical").tolist()
    export(images, "--output=checked.onnx", f"--input={here / 'new'}")
    assert "on 80 samples of" in capsys.readouterr().out


class Asks(nn.Module):
    """Decides by the values of the batch, which no exported program can."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 1)

    def forward(self, input: Tensor) -> Tensor:
        logits: Tensor = self.layer(input.flatten(1))
        return logits * 2 if bool(input.mean() > 100) else logits


class Mixes(nn.Module):
    """Scores a sample by the others in its batch: no file can give what predict gives for whole parts."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 1)

    def forward(self, input: Tensor) -> Tensor:
        flat = input.flatten(1)
        logits: Tensor = self.layer(flat - flat.mean(0))
        return logits


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (Asks, "the network Asks cannot be exported: torch.export cannot represent it"),
        (Mixes, "does not give what `pauc predict` gives: given alone, 1 of 1 samples differ"),
    ],
)
def test_networks_that_cannot_be_represented_are_refused(
    network: type[nn.Module],
    said: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = Path(__file__).read_text()
    start = source.index(f"class {network.__name__}")
    body = source[start : source.index("\n\n\n", start)]
    (here / "odd_nets.py").write_text(f"from torch import Tensor, nn\n\n\n{body}\n")
    monkeypatch.syspath_prepend(here)
    with monkeypatch.context() as patch:
        patch.delitem(__import__("sys").modules, "odd_nets", raising=False)
        run = fit(
            here,
            f"-c={CONFIGS / 'data/digits.yaml'}",
            f"-c={CONFIGS / 'method/ce.yaml'}",
            f"--model.backbone=odd_nets.{network.__name__}",
            "--model.learning_rate=1.0",
        )
        assert said in refused(capsys, run, "--calibrate=none")
    __import__("sys").modules.pop("odd_nets", None)
    assert not (here / "model.onnx").exists()


# ---------------------------------------------------------------------- mistakes


def test_mistakes_are_named(table: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "there.onnx").write_text("mine")
    (here / "folder.onnx").mkdir()
    for options, said in (
        (["--output=m.pt"], "`--output m.pt` must end in .onnx or .pt2"),
        (["--output=m.onnx", "--format=torch"], "does not end in .pt2"),
        (["--output=there.onnx"], "exists: choose another name, or add --overwrite"),
        (["--output=folder.onnx"], "is a folder"),
        (["--format=tflite"], "`tflite` does not exist"),
        (["--threshold=empirical"], "need `--target_fpr`"),
        (["--calibrate=none", "--prior=0.1"], "has no effect without probabilities"),
        (["--calibrate=plat"], "Did you mean `platt`?"),
        (["--prior=7"], "`prior` must be"),
        (["--target_fpr=0.001", "--threshold=guaranteed"], "takes at least 2,995 negatives"),
        (["--target_fpr=2"], "`target_fpr`"),
        (["--input=nothing.csv"], "no such file"),
    ):
        assert said in refused(capsys, table, *options), options
    assert "no such run" in refused(capsys, "nothing")
    assert (here / "there.onnx").read_text() == "mine"
    assert sorted(path.name for path in here.iterdir()) == ["folder.onnx", "there.onnx"]


def test_a_run_without_calibration_says_what_to_do(
    table: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(table, here / "copy"))
    (copy / "calibration.json").write_text("{}")
    assert "add `--calibrate none`" in refused(capsys, copy)


# ---------------------------------------------------------------------- scores that saturate


LOGITS = torch.tensor(
    [-800, -60, -37, -30, -9, -1, 0, 3, 16, 20, 30, 33, 36, 36.5, 37, 60], dtype=torch.float64
)
CALIBRATORS = (
    PlattCalibrator(prior=0.2, slope=0.1628, intercept=-1.9335),
    TemperatureCalibrator(prior=0.2, temperature=6.2559, shift=0.006),
    IsotonicCalibrator(prior=0.2, knots=(1e-57, 0.5, 1 - 1e-9, 1.0), values=(0.1, 0.2, 0.3, 0.9988)),
)


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=lambda one: one.name)
def test_probabilities_and_decisions_are_right_where_the_scores_are_almost_0_or_1(
    calibrator: Calibrator,
) -> None:
    """ONNX Runtime's sigmoid is 0 below -37, and the exporter rounds Python's floats to float32."""
    network = nn.Linear(1, 1).double()
    nn.init.ones_(network.weight)
    nn.init.zeros_(network.bias)
    threshold = 1 - 1e-8  # which is 1 in float32
    front = TensorFront("input", torch.float64, (1,), nn.Identity(), "a logit")
    chain = ScoringChain(front, network, CalibrationStep(calibrator, prior=0.1), threshold).eval()
    program = traced(chain)
    score = torch.sigmoid(LOGITS).numpy()
    for run in (OnnxRunner(onnx_bytes(program, chain, {})), TorchRunner(torch_bytes(program, {}), chain)):
        found = run({"input": LOGITS[:, None].numpy()})
        np.testing.assert_allclose(found["score"], score, rtol=1e-13)
        np.testing.assert_allclose(found["probability"], calibrator(score, prior=0.1), rtol=1e-12)
        assert found["decision"].tolist() == (score >= threshold).tolist()
        assert found["decision"].sum() == 7


def test_the_last_digit_of_a_score_near_1_may_show_in_its_probability() -> None:
    score = np.array([np.nextafter(1, 0), 0.3])
    calibrated = CALIBRATORS[0]
    one = np.zeros((2, 1))
    samples = TestSamples({"input": one}, torch.zeros(2, 1), "2 samples")

    def checked(change: float) -> str:
        found = {"score": np.array([1.0, 0.3]), "probability": calibrated([1.0, 0.3]) + np.array([0, change])}
        return check(
            lambda inputs: {name: values[: len(inputs["input"])] for name, values in found.items()},
            samples,
            Expected(score, calibrated, None),
            batch_size=2,
        )

    assert "in probabilities" in checked(0.0)
    with pytest.raises(InputError, match=r"The scores agree, so the calibration is .* --calibrate none"):
        checked(0.01)
