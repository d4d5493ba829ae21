"""The examples of docs/data.md run as they stand, and their data work with every method."""

from __future__ import annotations

import csv
import inspect
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import LightningDataModule, Trainer
from torch.utils.data import DataLoader, Dataset, TensorDataset

import pauc_lightning.methods
from pauc_lightning.cli import main
from pauc_lightning.data import LongTailDataModule, TabularLT
from pauc_lightning.errors import InputError
from pauc_lightning.methods import PartialAUCModule
from pauc_lightning.models import MLPScorer

DOCS = Path(__file__).parents[2] / "docs" / "data.md"
METHODS = [
    getattr(pauc_lightning.methods, name)
    for name in pauc_lightning.methods.__all__
    if name != PartialAUCModule.__name__
]


@pytest.fixture(scope="module")
def examples() -> dict[str, Any]:
    """What the Python examples define, run in their order; the last one of them trains."""
    namespace: dict[str, Any] = {"__name__": "examples"}
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert len(blocks) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks:
            exec(compile(block, str(DOCS), "exec"), namespace)
    return namespace


def make_trainer(**kwargs: Any) -> Trainer:
    return Trainer(
        **{"max_epochs": 2, **kwargs},
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


def make_model(method: type[PartialAUCModule]) -> PartialAUCModule:
    return method(
        backbone=MLPScorer(), max_fpr=0.5, warmup_epochs=1, prior=0.2, train_size=400, input_shape=(8,)
    )


def test_the_examples_train_and_the_long_tail_is_one(examples: dict[str, Any]) -> None:
    assert examples["trainer"].current_epoch == 2
    assert "val/pauc" in examples["trainer"].callback_metrics
    species = examples["species"]
    assert isinstance(species, LongTailDataModule)
    assert [count.train for count in species.class_counts] == [70, 39, 21, 11, 7]
    assert species.input_shape == (8,)


class WithoutIndex(LightningDataModule):
    """Batches of (input, label), as most data modules have them."""

    def __init__(self, data: Any) -> None:
        super().__init__()
        self.dataset: Dataset[Any] = TensorDataset(data.train.inputs, data.train.labels)

    def train_dataloader(self) -> DataLoader[Any]:
        return DataLoader(self.dataset, 100, shuffle=True)

    def val_dataloader(self) -> DataLoader[Any]:
        return DataLoader(self.dataset, 100)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_every_method_takes_ones_own_data(method: type[PartialAUCModule], examples: dict[str, Any]) -> None:
    torch.manual_seed(0)
    data = examples["PatientData"]()
    model = make_model(method)
    before = [parameter.detach().clone() for parameter in model.backbone.parameters()]
    trainer = make_trainer()
    trainer.fit(model, data)
    assert trainer.global_step == 2 * len(data.train_dataloader())
    assert 0.5 < float(trainer.callback_metrics["val/auc"]) <= 1
    after = model.backbone.parameters()
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))
    (result,) = make_trainer().test(model, data, verbose=False)
    assert 0 <= result["test/pauc"] <= 1

    model = make_model(method)
    if model.objective.needs_index:
        with pytest.raises(InputError, match=rf"{method.__name__}.*return \(input, label, index\)"):
            make_trainer().fit(model, WithoutIndex(data))
    else:
        trainer = make_trainer()
        trainer.fit(model, WithoutIndex(data))
        assert trainer.current_epoch == 2


@pytest.mark.filterwarnings("ignore")
def test_the_command_line_reads_what_the_module_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The documented command, with the example saved as patients.py."""
    text = DOCS.read_text()
    block = next(
        code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "PatientData(" in code
    )
    (tmp_path / "patients.py").write_text(block)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    command = re.search(r"pauc (fit [^`]*?patients\.PatientData.*?)\n```", text, re.DOTALL)
    assert command is not None
    configs = DOCS.parents[1] / "configs"
    options = command[1].replace("\\\n", " ").replace("configs/", f"{configs}/").split()
    main(
        [*options, "--trainer.max_epochs=2", "--model.init_args.warmup_epochs=1", "--trainer.accelerator=cpu"]
    )
    assert "Best validation" in capsys.readouterr().out
    assert (tmp_path / "runs" / "PatientData-UPAUCI").is_dir()


@pytest.mark.filterwarnings("ignore")
def test_the_table_example_trains_and_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of docs/data.md for tables, on a file that goes on as the one shown there."""
    text = DOCS.read_text()
    shown = re.search(r"```\n(patient_id,.*?)```", text, re.DOTALL)
    assert shown is not None
    rows = shown[1]
    for i in range(300):
        creatinine, outcome = 1 + i % 7 / 5, "died" if i % 4 == 0 else "lived"
        rows += f"B-{i:04d},{40 + i % 41},{'fm'[i % 2]},{1 + i % 3},{creatinine},{outcome}\n"
    monkeypatch.chdir(tmp_path)
    Path("patients.csv").write_text(rows)
    Path("new_patients.csv").write_text(
        "".join(line.rsplit(",", 1)[0] + "\n" for line in rows.splitlines()[:50])
    )
    visits = [f"P{i // 3},{i % 10},{'died' if i % 4 == 0 else 'lived'}\n" for i in range(300)]
    Path("visits.csv").write_text("patient_id,age,outcome\n" + "".join(visits))
    section = text[text.index("### A table") : text.index("### A folder of images")]
    commands = re.findall(r"```sh\npauc (.*?)\n```", section, re.DOTALL)
    assert [command.split()[0] for command in commands] == ["fit", "data", "predict", "predict"]
    configs = DOCS.parents[1] / "configs"
    quick = ["--trainer.max_epochs=2", "--model.init_args.warmup_epochs=1", "--trainer.accelerator=cpu"]
    for command in commands:
        options = shlex.split(command.replace("\\\n", " ").replace("configs/", f"{configs}/"))
        main([*options, *(quick if options[0] == "fit" else [])])
    for name, columns, n in (
        ("scores.csv", ["index", "patient_id", "score"], 49),
        ("test_scores.csv", ["index", "patient_id", "label", "score"], None),
    ):
        with Path(name).open() as file:
            scored = list(csv.DictReader(file))
        assert list(scored[0]) == columns
        assert n is None or len(scored) == n
        for row in scored:
            line = rows.splitlines()[1 + int(row["index"])]
            assert line.startswith(row["patient_id"] + ",")
            assert "label" not in row or int(row["label"]) == line.endswith("died")


def test_all_options_of_tables_are_documented() -> None:
    text = DOCS.read_text()
    own = set(inspect.signature(TabularLT.__init__).parameters) - {"self", "kwargs"}
    assert own <= set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
