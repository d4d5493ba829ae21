"""Ctrl-C and SIGTERM end a run between two batches; resumed, it ends as if nothing had happened."""

from __future__ import annotations

import csv
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from pauc_lightning import load
from pauc_lightning.cli import main

ROOT = Path(__file__).parents[2]
STOPPER = """
import signal
from lightning.pytorch import Callback
from pauc_lightning.data import DigitsLT

class StopAt(Callback):
    def __init__(self, step: int, signum: int, times: int = 1) -> None:
        self.step, self.signum, self.times = step, signum, times

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.global_step == self.step:
            for _ in range(self.times):
                signal.raise_signal(self.signum)

class Slow(DigitsLT):
    def prepare_data(self):
        signal.raise_signal(signal.SIGTERM)
"""


@pytest.fixture(autouse=True)
def _signals_have_their_usual_handlers() -> Iterator[None]:
    """A shell that starts the tests in the background makes them ignore SIGINT; Ray leaves a handler of SIGTERM."""
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    terminate = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, terminate)


@pytest.fixture(autouse=True)
def _in_a_directory_with_a_callback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", ["pauc"])
    monkeypatch.delitem(sys.modules, "stopper", raising=False)
    (tmp_path / "stopper.py").write_text(STOPPER)


def fit(name: str, *options: str) -> Path:
    data, method = ROOT / "configs/data/digits.yaml", ROOT / "configs/method/upauci.yaml"
    arguments = ["fit", "-c", str(data), "-c", str(method), "--trainer.accelerator=cpu", f"--run_name={name}"]
    arguments += ["--trainer.enable_progress_bar=false", "--trainer.max_epochs=4", "--model.warmup_epochs=1"]
    main([*arguments, "--trainer.log_every_n_steps=1", *options])
    return Path(f"runs/{name}/version_0")


def stopped_at(step: int, signum: int, times: int = 1) -> list[str]:
    options = {"step": step, "signum": signum, "times": times}
    return [
        "--trainer.callbacks=stopper.StopAt",
        *(f"--trainer.callbacks.{k}={v}" for k, v in options.items()),
    ]


def says(sentence: str, act: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether a command prints a sentence or gives it to Lightning's logger, once."""
    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    logger.addHandler(handler)
    capsys.readouterr()
    try:
        act()
    finally:
        logger.removeHandler(handler)
    return ("\n".join(heard) + capsys.readouterr().out).count(sentence) == 1


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on_with_the_printed_command(
    signum: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = fit("whole")
    with pytest.raises(SystemExit) as stopped:
        fit("parts", *stopped_at(7, signum))
    assert stopped.value.code == 128 + signum
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    folder = Path("runs/parts/version_0")
    assert torch.load(folder / "checkpoints/last.ckpt", weights_only=True)["global_step"] == 8
    said = capsys.readouterr().out
    assert f"Stopped by {signum.name}" in said
    command = said[said.index("Continue with:") :].split()[2:]
    assert command == ["pauc", "resume", "runs/parts/version_0"]
    unfinished = "The run runs/parts/version_0 has not finished training: this is its model so far."
    assert says(unfinished, lambda: main(["report", str(folder)]), capsys)
    assert says(unfinished, lambda: main(["validate", str(folder)]), capsys)
    assert says(unfinished, lambda: load(folder), capsys)
    main(command[1:])
    assert not says(unfinished, lambda: load(folder), capsys)
    expected, got = (
        torch.load(run / "checkpoints/last.ckpt", weights_only=True)["state_dict"] for run in (whole, folder)
    )
    assert expected.keys() == got.keys()
    assert all(torch.equal(value, got[key]) for key, value in expected.items())
    with (whole / "metrics.csv").open() as one, (folder / "metrics.csv").open() as two:
        assert list(csv.DictReader(one)) == list(csv.DictReader(two))


def test_a_second_signal_stops_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        fit("parts", *stopped_at(7, signal.SIGINT, times=2))
    assert stopped.value.code == 128 + signal.SIGINT
    said = capsys.readouterr().out
    assert "Continue with:  pauc resume runs/parts/version_0" in said
    last = torch.load("runs/parts/version_0/checkpoints/last.ckpt", weights_only=True)
    assert last["global_step"] == 5  # that of the last epoch's end: step 7 had begun


def test_a_run_that_is_stopped_before_training_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """SIGTERM while data were prepared used to end the process at once, and leave an empty version_0."""
    with pytest.raises(SystemExit) as stopped:
        fit("early", "--data=stopper.Slow")
    assert stopped.value.code == 128 + signal.SIGTERM
    assert "Stopped by SIGTERM, before there was anything to save." in capsys.readouterr().out
    assert not Path("runs").exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_that_the_process_ignores_stays_ignored() -> None:
    """As in `pauc fit ... &` of a script: Ctrl-C at the terminal is not meant for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    folder = fit("background", *stopped_at(7, signal.SIGINT))
    assert torch.load(folder / "checkpoints/last.ckpt", weights_only=True)["global_step"] == 20
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
