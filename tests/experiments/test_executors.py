"""The executors run jobs and report their ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch

from pauc_lightning.experiments.executors import InProcess, Job
from pauc_lightning.experiments.live import Progress, report


def test_in_process_runs_in_order_and_reports_progress_output_and_threads() -> None:
    seen: list[tuple[str, Progress]] = []

    def pauc(arguments: Sequence[str]) -> None:
        report(Progress(1, 2))
        sys.stdout.write(f"{arguments[0]} with {torch.get_num_threads()}\n")

    before = torch.get_num_threads()
    with InProcess(pauc) as executor:
        executor.start(Job("a", ("first",), threads=2))
        executor.start(Job("b", ("second",), threads=1))
        ended = [*executor.wait(lambda job, p: seen.append((job.name, p))), *executor.wait(lambda *_: None)]
    assert [(end.job.name, end.said.text, end.failure) for end in ended] == [
        ("a", "first with 2\n", None),
        ("b", "second with 1\n", None),
    ]
    assert seen == [("a", Progress(1, 2))]
    assert torch.get_num_threads() == before


def test_in_process_tells_mistakes_from_failures() -> None:
    def pauc(arguments: Sequence[str]) -> None:
        if arguments[0] == "mistake":
            sys.stdout.write("error: No such file.\n")
            raise SystemExit(2)
        raise RuntimeError("boom")

    executor = InProcess(pauc)
    executor.start(Job("a", ("mistake",)))
    executor.start(Job("b", ("crash",)))
    (mistake,), (crash,) = executor.wait(lambda *_: None), executor.wait(lambda *_: None)
    assert mistake.failure is not None
    assert (mistake.failure.reason, mistake.failure.is_mistake) == ("No such file.", True)
    assert crash.failure is not None
    assert (crash.failure.reason, crash.failure.is_mistake) == ("RuntimeError: boom", False)
    assert "Traceback" in crash.said.text
