"""The benchmark of start-up measures the CPU time of the processes that it names."""

from __future__ import annotations

import pytest

from pauc_lightning.benchmarks import startup
from pauc_lightning.errors import InputError

BUSY = "import time\nwhile time.process_time() < {}: pass"


def test_cpu_time_is_that_of_the_process() -> None:
    """At least what the process itself counts, but for the ticks of a hundredth that the system counts in."""
    assert startup.cpu_seconds(BUSY.format(0.5)) > 0.45


def test_the_table_has_a_ratio_for_every_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {start.name for start in startup.STARTS}
    assert {start.reference for start in startup.STARTS} <= names
    small = (
        startup.Start("reference", BUSY.format(0.3), "reference"),
        startup.Start("twice as long", BUSY.format(0.6), "reference"),
    )
    monkeypatch.setattr(startup, "STARTS", small)
    startup.main(["--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[-2:] == ["1.00", "reference"]
    assert lines[3].startswith("twice as long")


def test_mistakes() -> None:
    with pytest.raises(InputError, match="repeats"):
        startup.main(["--repeats", "0"])
    with pytest.raises(InputError, match="no_such_module"):
        startup.cpu_seconds("import no_such_module")
