"""The installed `pauc` script, in a directory with a file of the user's."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_of_own_data_works_as_documented(tmp_path: Path) -> None:
    """A console script, unlike `python -m`, does not look for modules in the current directory by itself."""
    text = (ROOT / "docs/data.md").read_text()
    (code,) = (
        block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "class PatientData" in block
    )
    (command,) = (
        block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if "patients.PatientData" in block
    )
    (tmp_path / "patients.py").write_text(code)
    script, *arguments = shlex.split(command.replace("\\\n", " "))
    assert script == "pauc"
    quick = ("--trainer.max_epochs=2", "--model.warmup_epochs=1", "--trainer.accelerator=cpu")
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    done = subprocess.run(
        [str(Path(sys.executable).parent / script), *arguments, *quick],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "runs/PatientData-UPAUCI/version_0/checkpoints/last.ckpt").is_file()
