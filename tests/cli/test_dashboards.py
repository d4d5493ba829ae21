"""W&B and TensorBoard get the run as it is: its curves, figures and histograms, each point once."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wandb
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from wandb_file import OfflineRun, offline_runs

from pauc_lightning.cli import main, tensorboard_run, wandb_run
from pauc_lightning.cli.wandb_files import records

SHORT = (
    *("fit", "-c", "digits", "-c", "upauci", "--model.warmup_epochs=1", "--trainer.log_every_n_steps=1"),
    *("--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false"),
)
BOARDS = ("--wandb=offline", "--tensorboard=true")
KILLER = """
import os, signal, time
from lightning.pytorch import Callback

class Killer(Callback):
    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step == 13 and "DIE" in os.environ:
            time.sleep(2)  # W&B writes in a process of its own: let it have what it was sent
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setattr(sys, "argv", ["pauc"])


def events(run: Path) -> Any:
    everything = {"scalars": 0, "histograms": 0, "images": 0}
    found = EventAccumulator(str(run / "tensorboard"), size_guidance=everything)
    return found.Reload()


def rows(run: Path) -> list[dict[str, str]]:
    with (run / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def column(run: Path, name: str) -> list[tuple[int, float]]:
    return [(int(row["step"]), float(row[name])) for row in rows(run) if row[name]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three epochs with both dashboards, tested at its best epoch."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("WANDB_SILENT", "true")
        patch.setattr(sys, "argv", ["pauc"])
        options = ("--trainer.max_epochs=3", "--figures.every_n_epochs=3", "--test_best=true")
        main([*SHORT, *BOARDS, *options, "--seed_everything=7", "--model.min_tpr=0.5"])
    return folder / "runs/DigitsLT-UPAUCI/version_0"


@pytest.fixture(scope="module")
def sent(run: Path) -> OfflineRun:
    (found,) = offline_runs(run / "wandb")
    return found


def test_runs_can_be_grouped_by_data_method_and_region(run: Path, sent: OfflineRun) -> None:
    assert (sent.project, sent.job_type, sent.name) == (
        "pauc-lightning",
        "fit",
        "DigitsLT-UPAUCI-version_0",
    )
    assert sent.group == "digits/upauci/tpauc_fpr0.3_tpr0.5"
    labels = {name: sent.config[name] for name in ("data", "method", "region", "backbone", "seed")}
    assert labels == {
        "data": "digits",
        "method": "upauci",
        "region": "tpauc_fpr0.3_tpr0.5",
        "backbone": "MLPScorer",
        "seed": 7,
    }
    assert sent.config["descent_lr"] == 0.5
    assert sent.config["settings"]["trainer"]["max_epochs"] == 3
    assert "_instantiator" not in sent.config
    assert sent.exit_code == 0


def test_the_partial_auc_is_the_headline(run: Path, sent: OfflineRun) -> None:
    validated = column(run, "val/pauc")
    step, best = max(validated, key=lambda row: row[1])
    assert sent.summaries_by_rule["val/pauc"] == {"max"}
    assert sent.summary["val/pauc"]["max"] == pytest.approx(best)
    assert sent.summary["best/pauc"] == pytest.approx(best)
    assert (sent.summary["best/step"], sent.summary["best/epoch"]) == (step, validated.index((step, best)))
    numbers = json.loads((run / "test_metrics.json").read_text())
    assert sent.summary["test/pauc"] == pytest.approx(numbers["pauc"])


def test_both_get_the_curves_of_the_file_with_the_variables_in_a_section(run: Path, sent: OfflineRun) -> None:
    board = events(run)
    names = {name for row in rows(run) for name in row if "/" in name}
    variables = {name for name in names if re.fullmatch(r"train/(a|b|gamma|s_pos|s_neg|c_.*)", name)}
    assert len(variables) == 13  # five, and mean, median and two quantiles of c for each class
    for name in names:
        shown = name.replace("train/", "variables/") if name in variables else name
        want = pytest.approx(dict(column(run, name)))
        assert dict(sent.curve(shown)) == want, name
        assert {event.step: event.value for event in board.Scalars(shown)} == want, name
    assert not {"train/a", "variables/loss", "variables/gradient_norm"} & set(board.Tags()["scalars"])
    assert all("epoch" in row for row in sent.history if "val/pauc" in row or "train/loss" in row)


def test_both_get_the_same_figures_as_the_directory(run: Path, sent: OfflineRun) -> None:
    board = events(run)
    for name in ("val_roc", "val_scores", "test_roc", "test_scores"):
        file = run / f"figures/{name}.png"
        ((step, value),) = sent.curve(f"figures/{name}")
        (media,) = value["filenames"]
        assert (sent.folder / "files" / media).read_bytes() == file.read_bytes()
        (event,) = board.Images(f"figures/{name}")
        assert event.step == step == (15 if name.startswith("test") else 14)
        pixels = [
            np.asarray(Image.open(source).convert("RGB"))
            for source in (file, io.BytesIO(event.encoded_image_string))
        ]
        assert np.array_equal(pixels[0], pixels[1])


def test_both_get_a_histogram_of_each_class_at_every_validation(run: Path, sent: OfflineRun) -> None:
    board = events(run)
    for label in ("positives", "negatives"):
        for part, steps in (("val", [4, 9, 14]), ("test", [15])):
            name = f"scores/{part}_{label}"
            curve, on_board = sent.curve(name), board.Histograms(name)
            assert [step for step, _ in curve] == [event.step for event in on_board] == steps
            for (_, one), other in zip(curve, on_board, strict=True):
                assert one["bins"] == pytest.approx([i / 50 for i in range(51)])
                assert sum(one["values"]) == other.histogram_value.num
                # TensorBoard may leave out empty bins at the ends.
                shown = dict(
                    zip(other.histogram_value.bucket_limit, other.histogram_value.bucket, strict=True)
                )
                assert {round(k * 50): v for k, v in shown.items() if v} == {
                    i + 1: v for i, v in enumerate(one["values"]) if v
                }


def test_tensorboard_compares_runs_by_settings_and_partial_auc(run: Path) -> None:
    content = events(run).PluginTagToContent("hparams")
    from tensorboard.plugins.hparams import plugin_data_pb2

    start = plugin_data_pb2.HParamsPluginData.FromString(content["_hparams_/session_start_info"])
    settings = start.session_start_info.hparams
    assert settings["data"].string_value == "digits"
    assert settings["descent_lr"].number_value == 0.5
    experiment = plugin_data_pb2.HParamsPluginData.FromString(content["_hparams_/experiment"])
    assert {info.name.tag for info in experiment.experiment.metric_infos} == {"val/pauc", "test/pauc"}


def test_a_killed_run_goes_on_in_both_without_a_point_twice(tmp_path: Path) -> None:
    """Killed at step 13 with a checkpoint at step 10; W&B and TensorBoard have seen steps 10 and 11, too."""
    (tmp_path / "killer.py").write_text(KILLER)
    # Without what W&B has left in the environment: its service of this process, and the mode.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    environment = {**clean, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-m", "pauc_lightning", *SHORT, *BOARDS, "--trainer.max_epochs=4"]
    command += ["--trainer.callbacks+=killer.Killer", "--figures.every_n_epochs=1"]
    run = tmp_path / "runs/DigitsLT-UPAUCI/version_0"
    resume = [sys.executable, "-m", "pauc_lightning", "resume", str(run)]
    for words, extra, status in ((command, {"DIE": "1"}, -9), (resume, {}, 0)):
        # Not into a pipe: older releases of W&B leave a process that keeps it open.
        with (tmp_path / "said.txt").open("w") as said:
            done = subprocess.run(
                words, cwd=tmp_path, env={**environment, **extra}, stdout=said, stderr=said, timeout=300
            )
        assert done.returncode == status, (tmp_path / "said.txt").read_text()[-3000:]

    first, second = offline_runs(run / "wandb")
    if wandb_run._often_on_disk():  # older releases write blocks of 32 KiB, so a kill costs more
        assert first.curve("train/loss")[-1][0] > 10
    assert (first.id, first.group, first.config["method"]) == (
        second.id,
        second.group,
        second.config["method"],
    )
    numbers = [row["_step"] for part in (first, second) for row in part.history]
    assert numbers == sorted(set(numbers))
    points = Counter(
        (name, row["trainer/global_step"])
        for part in (first, second)
        for row in part.history
        for name in row
        if "/" in name and name != "trainer/global_step"
    )
    assert set(points.values()) == {1}
    for name in ("train/loss", "val/pauc"):
        assert dict(first.curve(name) + second.curve(name)) == pytest.approx(dict(column(run, name)))
    assert second.summary["best/pauc"] == pytest.approx(max(value for _, value in column(run, "val/pauc")))

    board = events(run)
    assert [event.step for event in board.Scalars("train/loss")] == list(range(20))
    for name in ("train/loss", "val/pauc"):
        shown = {event.step: event.value for event in board.Scalars(name)}
        assert shown == pytest.approx(dict(column(run, name)))
    assert [event.step for event in board.Images("figures/val_roc")] == [4, 9, 14, 19]
    assert [event.step for event in board.Histograms("scores/val_negatives")] == [4, 9, 14, 19]


@pytest.mark.parametrize(("damage", "is_cut"), [(-1, True), (-2000, True), (-2000, False)])
def test_of_a_damaged_file_what_comes_before_is_read(
    damage: int, is_cut: bool, run: Path, tmp_path: Path
) -> None:
    """The file of a killed run may end anywhere."""
    (original,) = (run / "wandb").glob("offline-run-*/*.wandb")
    content = bytearray(original.read_bytes())
    damaged = content[:damage] if is_cut else content
    if not is_cut:
        damaged[damage] ^= 1
    copy = tmp_path / original.name
    copy.write_bytes(damaged)
    whole = [record.SerializeToString() for record in records(original)]
    left = [record.SerializeToString() for record in records(copy)]
    assert left == whole[: len(left)]
    assert 0 < len(left) < len(whole)


def test_a_run_that_turns_to_dashboards_when_resumed_shows_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main([*SHORT, "--trainer.max_epochs=2"])
    run = tmp_path / "runs/DigitsLT-UPAUCI/version_0"
    main(["resume", str(run), *BOARDS, "--trainer.max_epochs=3"])
    (found,) = offline_runs(run / "wandb")
    assert found.config["method"] == "UPAUCI"  # the run's config.yaml does not name the config of the method
    board = events(run)
    for name in ("train/loss", "val/pauc"):
        want = pytest.approx(dict(column(run, name)))
        assert dict(found.curve(name)) == want
        assert {event.step: event.value for event in board.Scalars(name)} == want


def test_a_run_that_fails_is_marked_as_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main([*SHORT, "--wandb=offline", "--model.learning_rate=1e30", "--model.gradient_clip_norm=null"])
    (found,) = offline_runs(tmp_path / "runs/DigitsLT-UPAUCI/version_0/wandb")
    assert found.exit_code == 1


def test_group_and_kind_are_the_users_if_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no figure means no histogram of it is lost: they are sent without figures, too."""
    monkeypatch.chdir(tmp_path)
    names = ("--wandb_group=mine", "--wandb_job_type=warm-up", "--wandb_project=ours", "--run_name=first")
    main([*SHORT, "--wandb=offline", "--trainer.max_epochs=2", "--figures.every_n_epochs=0", *names])
    main(["test", "runs/first/version_0", "--wandb=offline", "--trainer.accelerator=cpu"])
    (fitted,) = offline_runs(tmp_path / "runs/first/version_0/wandb")
    assert (fitted.project, fitted.group, fitted.job_type) == ("ours", "mine", "warm-up")
    assert len(fitted.curve("scores/val_positives")) == 2
    (tested,) = offline_runs(tmp_path / "runs/first/version_0/test/version_0/wandb")
    assert tested.name == "first-version_0-test-version_0"
    assert 0 <= tested.summary["test/pauc"] <= 1


def test_a_sweep_decides_the_identity_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent of W&B names the run in the environment; a resumed run must continue that one."""
    monkeypatch.chdir(tmp_path)
    wandb.finish()
    wandb.teardown()  # it reads the environment once
    monkeypatch.setenv("WANDB_SWEEP_ID", "sweep123")
    monkeypatch.setenv("WANDB_RUN_ID", "chosen12")
    main([*SHORT, "--wandb=offline", "--trainer.max_epochs=2"])
    run = tmp_path / "runs/DigitsLT-UPAUCI/version_0"
    (found,) = offline_runs(run / "wandb")
    assert found.id == json.loads((run / "wandb.json").read_text())["id"] == "chosen12"


def test_tensorboard_that_is_missing_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tensorboard_run, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as stopped:
        main([*SHORT, "--tensorboard=true"])
    assert stopped.value.code == 2
    assert "pip install 'pauc-lightning[tensorboard]'" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_a_refused_run_leaves_no_event_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main([*SHORT, "--tensorboard=true", "--trainer.max_epochs=1"])
    assert "warmup_epochs" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
