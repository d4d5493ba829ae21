"""The experiments in configs/paper are the paper's tables: the same data, methods and regions, no more and no less."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pauc_lightning.cli import main
from pauc_lightning.config_files import find_config, list_configs
from pauc_lightning.experiments.paper import TABLES, Table, published_result
from pauc_lightning.region import Region

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/paper.md").read_text(encoding="utf-8")
every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: f"table{table.number}")


def read(name: str) -> dict[str, Any]:
    content = yaml.safe_load(find_config(name).read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def region(text: float | str) -> Region:
    """A region as ``--regions`` writes it: ``max_fpr`` or ``max_fpr,min_tpr``."""
    return Region(*(float(rate) for rate in str(text).split(",")))


def test_there_is_one_for_every_table() -> None:
    shipped = {path.stem for path in (ROOT / "configs/paper").iterdir()}
    assert shipped == {f"table{table.number}" for table in TABLES} == {f"table{n}" for n in range(3, 11)}


@every_table
def test_it_trains_what_the_table_shows(table: Table) -> None:
    experiment = read(table.config)["compare"]
    trained = {
        (data, method, region(text))
        for data in experiment["data"]
        for method in experiment["methods"]
        for text in experiment["regions"]
    }
    assert trained == {(result.data, result.method, result.region) for result in table.results}
    for cell in trained:
        result = published_result(*cell)
        assert result is not None
        assert result.table == table.number
    rows = list(dict.fromkeys(result.method for result in table.results))
    assert experiment["methods"] == rows  # in the paper's order


@every_table
def test_it_follows_the_papers_protocol(table: Table) -> None:
    config = read(table.config)
    experiment = config["compare"]
    assert set(config) == {"model", "compare"}
    assert set(experiment) == {
        *("data", "methods", "regions", "seeds", "warmup_epochs", "epochs", "baseline"),
    }
    assert len(set(experiment["seeds"])) == 10
    assert (experiment["warmup_epochs"], experiment["epochs"]) == (10, 50)
    assert experiment["baseline"] in experiment["methods"]
    for name in experiment["data"]:
        data = read(f"data/{name}")
        assert data["model"]["init_args"]["backbone"]["class_path"] == "ResNet18"
        assert data["data"]["init_args"]["batch_size"] == 1024
        if name.startswith("tiny"):
            assert data["data"]["init_args"]["imbalance_ratio"] is None


@every_table
def test_it_is_described(table: Table) -> None:
    (description,) = (text for _, name, text in list_configs() if name == table.config)
    assert description == f"Table {table.number} of the paper: {table.title}."
    assert f"pauc compare -c {table.config}\n" in find_config(table.config).read_text(encoding="utf-8")
    experiment = read(table.config)["compare"]
    regions = " and ".join(map(str, experiment["regions"]))
    trainings = len(table.results) * len(experiment["seeds"])
    row = f"| {table.number} | {table.title} | {regions} | {trainings} | `{table.config}` |"
    assert row in PAGE.splitlines()


DATA = list(dict.fromkeys(result.data for table in TABLES for result in table.results))
METHODS = list(dict.fromkeys(result.method for table in TABLES for result in table.results))


@pytest.mark.parametrize(("data", "method"), list(zip(DATA, METHODS, strict=True)))
def test_every_data_set_and_method_takes_the_shared_settings(
    data: str, method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = next(t for t in TABLES if data in {r.data for r in t.results})
    shared = {key: section for key, section in read(table.config).items() if key != "compare"}
    (tmp_path / "shared.yaml").write_text(yaml.safe_dump(shared))
    with pytest.raises(SystemExit) as exit:
        main(["fit", "-c", str(tmp_path / "shared.yaml"), "-c", data, "-c", method, "--print_config"])
    assert exit.value.code == 0
    model = yaml.safe_load(capsys.readouterr().out)["model"]
    assert model["class_path"].endswith(f".{read(f'method/{method}')['model']['class_path']}")
    assert model["init_args"]["schedule"] == "cosine"
    assert model["init_args"]["backbone"]["class_path"].endswith(".ResNet18")


def test_the_examples_of_the_page_run() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(block, "docs/paper.md", "exec"), {})
