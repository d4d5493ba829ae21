"""The log of a resumed run is one curve."""

from __future__ import annotations

import csv
from pathlib import Path

from pauc_lightning.cli import main
from pauc_lightning.loggers import RunLogger


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def log(logger: RunLogger, step: int, **metrics: float) -> None:
    logger.log_metrics({name.replace("_", "/"): value for name, value in metrics.items()}, step)


def test_what_came_after_the_checkpoint_is_dropped_and_the_rest_kept(tmp_path: Path) -> None:
    first = RunLogger(tmp_path)
    for step in range(10):
        log(first, step, train_loss=float(step))
    log(first, 9, val_pauc=0.25)
    first.save()
    for step in range(10, 15):
        log(
            first, step, train_loss=99.0, train_other=1.0
        )  # other columns, so that no later row replaces them
    first.save()

    second = RunLogger(tmp_path, first_step=10)  # killed at step 15, resumed from a checkpoint at step 10
    for step in range(10, 20):
        log(second, step, train_loss=float(step))
    log(second, 19, val_pauc=0.5)
    second.save()
    log(second, 20, train_loss=20.0, train_new=1.0)  # a column that comes later
    second.save()
    got = rows(tmp_path)
    assert [float(row["train/loss"]) for row in got if row["train/loss"]] == [float(i) for i in range(21)]
    assert [(row["step"], row["val/pauc"]) for row in got if row["val/pauc"]] == [
        ("9", "0.25"),
        ("19", "0.5"),
    ]


def test_a_validation_that_is_repeated_takes_the_place_of_the_first(tmp_path: Path) -> None:
    first = RunLogger(tmp_path)
    log(first, 9, train_loss=0.1)
    log(first, 9, val_pauc=0.25)
    first.save()
    second = RunLogger(tmp_path, first_step=10)
    log(second, 9, val_pauc=0.25)
    second.save()
    assert [row["val/pauc"] for row in rows(tmp_path)] == ["", "0.25"]


def test_a_row_that_was_written_out_early_is_not_written_twice(tmp_path: Path) -> None:
    logger = RunLogger(tmp_path)
    for step in range(3):
        log(logger, step, train_loss=0.5)
        logger.save()  # with a checkpoint, before Lightning logs the batch
        log(logger, step, train_loss=0.5)
    logger.save()
    assert [row["step"] for row in rows(tmp_path)] == ["0", "1", "2"]


def test_a_row_that_a_kill_has_cut_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("step,train/loss,val/pauc\n0,0.5,\n1,0.4,\n2,0.")
    logger = RunLogger(tmp_path, first_step=3)
    log(logger, 2, train_loss=0.3)
    logger.save()
    assert [(row["step"], row["train/loss"]) for row in rows(tmp_path)] == [
        ("0", "0.5"),
        ("1", "0.4"),
        ("2", "0.3"),
    ]


def test_a_new_run_claims_its_directory_once_and_only_when_it_is_needed(tmp_path: Path) -> None:
    claims: list[Path] = []

    def claim(folder: Path) -> int:
        claims.append(folder)
        (folder / "version_3").mkdir(parents=True)
        return 3

    logger = RunLogger(tmp_path / "name", claim)
    assert not logger.is_claimed
    assert not claims
    assert logger.log_dir == str(tmp_path / "name/version_3")
    log(logger, 0, train_loss=1.0)
    logger.save()
    assert claims == [tmp_path / "name"]
    assert logger.is_claimed
    assert rows(tmp_path / "name/version_3")[0]["train/loss"] == "1.0"


def test_a_logger_of_the_user_comes_on_top_of_the_runs_own(tmp_path: Path) -> None:
    options = f"--run_dir={tmp_path / 'runs'} --trainer.logger=CSVLogger --trainer.logger.save_dir={tmp_path / 'mine'}"
    short = (
        "--trainer.max_epochs=1 --trainer.accelerator=cpu --model.warmup_epochs=1 --figures.every_n_epochs=0"
    )
    main(["fit", "-c", "digits", "-c", "ce", *options.split(), *short.split()])
    run = tmp_path / "runs/DigitsLT-CE/version_0"
    assert (run / "checkpoints/last.ckpt").is_file()
    own, mine = rows(run), rows(tmp_path / "mine/lightning_logs/version_0")
    assert [row["val/pauc"] for row in own] == [row["val/pauc"] for row in mine]
