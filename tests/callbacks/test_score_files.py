"""The scores that a run keeps are those of the model in best.ckpt, each sample once, however the run ended."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from callbacks.runs import Kill, KillLast, build, run
from ddp import run_on_ranks
from methods.training import digits
from numpy.typing import NDArray

from pauc_lightning.callbacks import DecisionThresholds, RunCheckpoint, ScoreFiles
from pauc_lightning.checkpoint_io import read_checkpoint, write_checkpoint
from pauc_lightning.cli import main
from pauc_lightning.errors import InputError
from pauc_lightning.run_files import (
    CALIBRATION,
    OF_THE_BEST_MODEL,
    TEST_SCORES,
    SavedScores,
    read_scores,
    read_test_scores,
    read_validation_scores,
)


def recomputed(folder: Path, part: str = "val") -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The scores and labels of a part by the weights in best.ckpt, without any of the code that keeps them."""
    module = build()
    module.load_state_dict(read_checkpoint(folder / "checkpoints/best.ckpt")["state_dict"])
    data = digits()
    data.setup("fit" if part == "val" else "test")
    batches = list(data.val_dataloader() if part == "val" else data.test_dataloader())
    inputs, target, index = (torch.cat(column) for column in zip(*batches, strict=True))
    with torch.no_grad():
        scores = torch.sigmoid(module.eval().backbone(inputs).squeeze(1).double())
    order = index.argsort()
    return scores[order].numpy(), target[order].numpy()


def assert_scores_of_best(folder: Path) -> None:
    kept = read_validation_scores(folder)
    scores, labels = recomputed(folder)
    np.testing.assert_allclose(kept.score, scores, rtol=1e-5)
    np.testing.assert_array_equal(kept.label, labels)
    assert kept.score.dtype == np.float64


def test_a_finished_run_has_the_scores_of_its_best_model(tmp_path: Path) -> None:
    done = run(tmp_path, extra=[DecisionThresholds()], max_epochs=4)
    assert read_checkpoint(done.best)["global_step"] < 40, "the last model must not be the best here"
    assert_scores_of_best(tmp_path)
    from_file = read_scores(tmp_path / "validation_scores.npz")
    (tmp_path / "validation_scores.npz").unlink()
    from_checkpoint = read_validation_scores(tmp_path)
    assert from_file.index is not None
    assert len(from_file) == len(np.unique(from_file.index))
    for name, array in from_file.arrays.items():
        np.testing.assert_array_equal(array, from_checkpoint.arrays[name])
    assert "validation_scores" not in read_checkpoint(done.last)


@pytest.mark.parametrize(
    ("hook", "seconds"),
    [("on_validation_end", 0.0), ("on_train_epoch_end", 3600.0), ("on_train_batch_start", 3600.0)],
)
def test_a_killed_run_never_has_the_scores_of_another_model(
    tmp_path: Path, hook: str, seconds: float
) -> None:
    """What lies on the disk at the moment of the kill is consistent, and so is the end of the resumed run."""
    run(tmp_path / "a", max_epochs=2, extra=[DecisionThresholds()])
    (tmp_path / "a" / CALIBRATION).write_text("{}")
    before = read_checkpoint(tmp_path / "a/checkpoints/best.ckpt")["global_step"]
    settings: dict[str, Any] = {"seconds_between_saves": seconds, "every_n_train_steps": 7}
    kill: Any = (
        KillLast(hook, 30, tmp_path / "copy", **settings)
        if hook != "on_train_batch_start"
        else Kill(hook, 36, tmp_path / "copy")
    )
    again: dict[str, Any] = {"resume": tmp_path / "a/checkpoints/last.ckpt", "extra": [DecisionThresholds()]}
    if not isinstance(kill, RunCheckpoint):
        again["checkpoint"] = RunCheckpoint(**settings)
    killed = run(tmp_path / "a", kill=kill, max_epochs=5, **again)
    assert killed.was_killed
    for folder in (tmp_path / "a", tmp_path / "copy"):
        assert_scores_of_best(folder)
    after = read_checkpoint(killed.best)["global_step"]
    left = {name for name in OF_THE_BEST_MODEL if (tmp_path / "a" / name).exists()}
    assert left == (set(OF_THE_BEST_MODEL) - {TEST_SCORES} if after == before else set())
    resumed = run(
        tmp_path / "a",
        resume=killed.last,
        extra=[DecisionThresholds()],
        checkpoint=RunCheckpoint(),
        max_epochs=5,
    )
    assert_scores_of_best(tmp_path / "a")
    assert read_checkpoint(resumed.best)["global_step"] > before
    assert not (tmp_path / "a" / CALIBRATION).exists()
    assert (tmp_path / "a/validation_scores.npz").is_file()


def two_processes(rank: int, folder: Path) -> SavedScores:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", TORCHELASTIC_RUN_ID="test")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500", GROUP_RANK="0", LOCAL_WORLD_SIZE="2")
    settings: dict[str, Any] = {"devices": 2, "strategy": "ddp", "max_epochs": 2}
    # An odd number of validation samples, in batches that do not divide it: the ranks have different numbers.
    done = run(folder, extra=[DecisionThresholds(), ScoreFiles()], data={"eval_batch_size": 11}, **settings)
    torch.distributed.barrier()
    done.trainer.test(done.module, datamodule=digits(eval_batch_size=11), ckpt_path=str(done.best))
    torch.distributed.barrier()
    return read_validation_scores(folder)


def test_two_processes_keep_each_sample_once(tmp_path: Path) -> None:
    first, second = run_on_ranks(two_processes, 2, tmp_path)
    np.testing.assert_array_equal(first.score, second.score)
    assert_scores_of_best(tmp_path)
    tested = read_test_scores(tmp_path)
    scores, labels = recomputed(tmp_path, "test")
    np.testing.assert_allclose(tested.score, scores, rtol=1e-5)
    np.testing.assert_array_equal(tested.label, labels)


def test_samples_without_an_index_keep_the_order_of_the_loader() -> None:
    scores = SavedScores.of(torch.tensor([0.5, 0.2]), torch.tensor([1, 0]))
    assert scores.index is None
    assert scores.score.tolist() == [0.5, pytest.approx(0.2)]
    ordered = SavedScores.of(torch.tensor([0.5, 0.2]), torch.tensor([1, 0]), torch.tensor([7, 3]))
    assert ordered.index is not None
    assert ordered.index.tolist() == [3, 7]
    assert ordered.label.tolist() == [0, 1]


def test_validate_adds_the_scores_that_an_older_run_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false"]
    configs = Path(__file__).parents[2] / "configs"
    main(
        [
            *("fit", "-c", str(configs / "data/digits.yaml"), "-c", str(configs / "method/ce.yaml")),
            *(f"--run_dir={tmp_path}", "--trainer.max_epochs=2", "--test_best=true", *options),
        ]
    )
    (folder,) = tmp_path.glob("*/version_0")
    kept = read_validation_scores(folder)
    assert len(read_test_scores(folder)) > 0
    best = folder / "checkpoints/best.ckpt"
    checkpoint = read_checkpoint(best)
    del checkpoint["validation_scores"]
    write_checkpoint(checkpoint, best)
    (folder / "validation_scores.npz").unlink()
    with pytest.raises(InputError, match=r"type `pauc validate .*version_0`, which makes it"):
        read_validation_scores(folder)
    main(["validate", str(folder), "--ckpt_path", "last", *options])
    with pytest.raises(InputError, match="which makes it"):  # those are the scores of another model
        read_validation_scores(folder)
    main(["validate", str(folder), *options])
    assert "which this run of an earlier version lacked" in capsys.readouterr().out
    added = read_validation_scores(folder)
    np.testing.assert_allclose(added.score, kept.score, rtol=1e-6)
    np.testing.assert_array_equal(added.label, kept.label)


def test_what_is_missing_or_damaged_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither validation_scores.npz nor a best checkpoint"):
        read_validation_scores(tmp_path)
    with pytest.raises(InputError, match=r"type `pauc test"):
        read_test_scores(tmp_path)
    for content in (b"", b"PK\x03\x04 cut", b"text"):
        (tmp_path / "validation_scores.npz").write_bytes(content)
        with pytest.raises(InputError, match=r"is damaged, or not a file of scores"):
            read_validation_scores(tmp_path)
    np.savez(tmp_path / "validation_scores.npz", score=np.zeros(3), label=np.zeros(2))
    with pytest.raises(InputError, match=r"its arrays differ in length"):
        read_validation_scores(tmp_path)
