"""Runs killed at random moments and resumed, compared bit for bit with uninterrupted ones.

Each chain starts `pauc fit` in a process of its own, kills it at a random moment (by SIGKILL, sometimes by SIGTERM or
SIGINT), continues with `pauc resume RUN` in another process, kills that one, and so on until a process finishes. The
weights and the optimizer's state in the last checkpoint, and the weights in the best one, must equal those of an
undisturbed run. The processes are forked from one that has imported everything, because imports take most of a start's
time.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.files import check_folder

_COMMON = (
    *("--data=DigitsLT", "--data.batch_size=64", "--model.backbone=MLPScorer", "--model.warmup_epochs=2"),
    *("--trainer.max_epochs=10", "--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false"),
    *("--trainer.enable_model_summary=false", "--trainer.log_every_n_steps=5", "--run_name=run"),
)
_TWO_PROCESSES = ("--trainer.devices=2", "--trainer.strategy=ddp", "--data.batch_size=32")
SETTINGS: dict[str, tuple[str, ...]] = {
    "CE": ("--model=CE",),
    "UPAUCI": ("--model=UPAUCI",),
    "UPAUCI, ascent": ("--model=UPAUCI", "--model.weights=ascent", "--model.min_tpr=0.5"),
    "SOPA": ("--model=SOPA", "--model.min_tpr=0.5"),
    "CE, max_steps": ("--model=CE", "--trainer.max_epochs=-1", "--trainer.max_steps=93"),
    "UPAUCI, max_steps, every step": (
        *("--model=UPAUCI", "--trainer.max_epochs=-1", "--trainer.max_steps=93"),
        "--checkpoint.every_n_train_steps=1",
    ),
    "CE, every 10 steps": ("--model=CE", "--checkpoint.every_n_train_steps=10"),
    "SOPA, every 7 steps": ("--model=SOPA", "--checkpoint.every_n_train_steps=7"),
    "UPAUCI, 64-true": (
        *("--model=UPAUCI", "--model.weights=ascent", "--trainer.precision=64-true"),
        "--checkpoint.every_n_train_steps=3",
    ),
    "CE, two validations": (
        *("--model=CE", "--trainer.val_check_interval=0.5"),
        "--checkpoint.every_n_train_steps=5",
    ),
    "CE, workers": ("--model=CE", "--data.num_workers=2", "--checkpoint.every_n_train_steps=4"),
    "CE, 2 processes": ("--model=CE", *_TWO_PROCESSES),
    "UPAUCI, 2 processes": (
        *("--model=UPAUCI", "--model.weights=ascent", *_TWO_PROCESSES),
        "--checkpoint.every_n_train_steps=5",
    ),
}
_ATTEMPTS = 8
"""How often a run may finish before its first kill."""

_PATIENCE = 600.0
"""Seconds after which a process is considered to hang."""


class Ended(NamedTuple):
    """How a process ended."""

    status: int
    seconds: float
    was_killed: bool


@dataclass
class Chain:
    """The history of one run."""

    number: int
    setting: str
    signals: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def differences(expected: Any, got: Any, place: str = "") -> list[str]:
    """Return the places where two nested structures of tensors and values are not identical."""
    if isinstance(expected, dict) and isinstance(got, dict):
        keys = list(dict.fromkeys([*expected, *got]))
        missing = [f"{place}/{key} missing" for key in keys if (key in expected) != (key in got)]
        shared = [key for key in keys if key in expected and key in got]
        return missing + [
            line for key in shared for line in differences(expected[key], got[key], f"{place}/{key}")
        ]
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        if len(expected) != len(got):
            return [f"{place}: {len(expected)} and {len(got)} entries"]
        pairs = enumerate(zip(expected, got, strict=True))
        return [line for i, (first, second) in pairs for line in differences(first, second, f"{place}/{i}")]
    if isinstance(expected, Tensor) and isinstance(got, Tensor):
        # Compared as bits: NaN equals itself, and 0.0 differs from -0.0.
        same = expected.dtype == got.dtype and expected.shape == got.shape
        same = same and expected.numpy().tobytes() == got.numpy().tobytes()
    else:
        same = type(expected) is type(got) and expected == got
    return [] if same else [place or "value"]


def compare_runs(expected: Path, got: Path) -> list[str]:
    """Return where the last and the best checkpoints of two run directories differ."""
    found = []
    for name, keys in (
        ("last", ("state_dict", "optimizer_states", "global_step")),
        ("best", ("state_dict",)),
    ):
        try:
            first, second = (read_checkpoint(run / f"checkpoints/{name}.ckpt") for run in (expected, got))
        except InputError as error:
            return [str(error)]
        found += differences({key: first[key] for key in keys}, {key: second[key] for key in keys}, name)
    return found


def _start(arguments: Sequence[str], log: Path) -> int:
    """Fork a process that runs `pauc` with ``arguments`` in a process group of its own, and return its id."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.setsid()
        output = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o666)
        os.dup2(output, 1)
        os.dup2(output, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        torch.set_num_threads(1)
        sys.argv[1:] = arguments  # Lightning starts the second process from these
        from pauc_lightning.cli import main

        main(arguments)
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _finish(process: int, kill_after: float | None = None, kind: signal.Signals = signal.SIGKILL) -> Ended:
    """Wait for a process; after ``kill_after`` seconds, signal it and everything it started."""
    start = time.monotonic()
    sent = False
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        seconds = time.monotonic() - start
        if done:
            _signal_group(process, signal.SIGKILL)  # what it left behind
            return Ended(os.waitstatus_to_exitcode(status), seconds, sent)
        if kill_after is not None and not sent and seconds >= kill_after:
            sent = _signal_group(process, kind)
        if seconds > _PATIENCE:
            _signal_group(process, signal.SIGKILL)
        time.sleep(0.005)


def _signal_group(process: int, kind: signal.Signals) -> bool:
    try:
        os.killpg(process, kind)
    except ProcessLookupError:
        return False
    return True


def _newest(folder: Path) -> Path | None:
    """Return the newest run that can be resumed; a run killed before its first checkpoint must be started again."""
    runs = sorted(folder.glob("run/version_*/checkpoints/last.ckpt"), key=lambda path: path.stat().st_mtime)
    return runs[-1].parent.parent if runs else None


def _command(setting: str, folder: Path) -> list[str]:
    run = _newest(folder)
    if run is not None:
        return ["resume", str(run)]
    return ["fit", *_COMMON, *SETTINGS[setting], f"--run_dir={folder}"]


def _whole_run(setting: str, folder: Path) -> tuple[Path, float]:
    """Make an undisturbed run, and return it with the seconds it took."""
    folder.mkdir(parents=True)
    ended = _finish(_start(_command(setting, folder), folder / "log.txt"))
    run = _newest(folder)
    if ended.status != 0 or run is None:
        raise InputError(f"`pauc fit` itself failed with status {ended.status}: see {folder / 'log.txt'}.")
    return run, ended.seconds


def _chain(number: int, setting: str, folder: Path, seconds: float, most_kills: int, seed: int) -> Chain:
    """Kill and resume a run until it finishes; a run that finishes before its first kill starts again."""
    chance = random.Random(f"{seed} {number}")
    chain = Chain(number, setting)
    folder.mkdir(parents=True)
    for _ in range(most_kills + _ATTEMPTS):
        kind = chance.choices([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], [3, 1, 1])[0]
        # A run begins with its start-up, where there is nothing to lose yet.
        moment = chance.uniform(0.3, 1.0) * seconds if len(chain.signals) < most_kills else None
        ended = _finish(_start(_command(setting, folder), folder / "log.txt"), moment, kind)
        if ended.status == 0 and not chain.signals:
            shutil.rmtree(folder / "run")  # finished before the kill, so it proves nothing
            seconds *= 0.8
            continue
        if ended.status == 0:
            return chain
        if not ended.was_killed:
            chain.differences.append(f"status {ended.status}: see {folder / 'log.txt'}")
            return chain
        chain.signals.append(kind.name.removeprefix("SIG"))
    chain.differences.append("never killed" if not chain.signals else "never ended")
    return chain


def run_chains(folder: Path, chains: int, most_kills: int, seed: int) -> list[Chain]:
    """Run ``chains`` chains over the settings in turn, each compared with the undisturbed run of its setting."""
    names = list(SETTINGS)
    whole: dict[str, tuple[Path, float]] = {}
    results = []
    for number in tqdm(range(chains), desc="chains"):
        setting = names[number % len(names)]
        if setting not in whole:
            whole[setting] = _whole_run(setting, folder / f"whole{number}")
        expected, seconds = whole[setting]
        chain = _chain(number, setting, folder / f"chain{number}", seconds, most_kills, seed)
        got = _newest(folder / f"chain{number}")
        if not chain.differences:
            chain.differences = ["no checkpoint"] if got is None else compare_runs(expected, got)
        results.append(chain)
    return results


def report(chains: Sequence[Chain]) -> str:
    """Return the table and its summary line."""
    lines = [f"{'chain':>5}  {'setting':<30}  {'killed by':<24}  identical"]
    for chain in chains:
        verdict = "yes" if not chain.differences else f"NO: {', '.join(chain.differences[:3])}"
        lines.append(
            f"{chain.number:>5}  {chain.setting:<30}  {' '.join(chain.signals) or '-':<24}  {verdict}"
        )
    identical = sum(not chain.differences for chain in chains)
    kills = sum(len(chain.signals) for chain in chains)
    lines.append(
        f"\n{identical} of {len(chains)} chains end bit-identical to the undisturbed run, after {kills} kills."
    )
    return "\n".join(lines)


def main(argv: Sequence[str]) -> None:
    """Print the table; exit with status 1 unless all chains are identical."""
    parser = PlainParser(
        prog="pauc benchmark resume",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--chains", type=int, default=20, help="how many runs to kill and resume")
    parser.add_argument("--kills", type=int, default=3, help="kills per run, at most")
    parser.add_argument("--seed", type=int, default=0, help="decides signals and moments")
    parser.add_argument("--quick", action="store_true", help="three chains of one kill")
    parser.add_argument("--keep", type=Path, help="directory to keep the runs and their output in")
    arguments = parser.parse_args(argv)
    if arguments.chains < 1 or arguments.kills < 1:
        raise InputError(
            f"`--chains={arguments.chains}` and `--kills={arguments.kills}` must be at least 1 each."
        )
    if arguments.keep is not None:
        check_folder("--keep", arguments.keep)
    chains, kills = (3, 1) if arguments.quick else (arguments.chains, arguments.kills)
    import pauc_lightning.cli  # noqa: F401  # once, for all processes

    with tempfile.TemporaryDirectory() as temporary:
        results = run_chains(arguments.keep or Path(temporary), chains, kills, arguments.seed)
    print(report(results))
    if any(chain.differences for chain in results):
        raise SystemExit(1)
