"""`init_weights`: a file that cannot be used is named, with what it is, and changes nothing."""

from __future__ import annotations

import copy
import os
from pathlib import Path

import pytest
import torch
from methods.training import fit, small_net
from torch import nn

from pauc_lightning import InputError
from pauc_lightning.methods import CE
from pauc_lightning.models import MLPScorer


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("warm")
    fit(CE(backbone=small_net()), folder, max_epochs=1, limit_val_batches=0)
    return folder / "last.ckpt"


def refused(path: Path, backbone: nn.Module | None = None) -> str:
    """What is said of it; the backbone stays as it is."""
    module = CE(backbone=small_net(1) if backbone is None else backbone)
    before = copy.deepcopy(module.backbone.state_dict())
    with pytest.raises(InputError) as error:
        module.load_backbone(str(path))
    torch.testing.assert_close(module.backbone.state_dict(), before, rtol=0, atol=0)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("`init_weights")
    assert str(path) in str(error.value)
    return str(error.value)


def test_files_that_are_no_checkpoints(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "text.ckpt").write_text("weights: none\n")
    torch.save({"weights": 1}, tmp_path / "dict.ckpt")
    torch.save(small_net().state_dict(), tmp_path / "bare.ckpt")
    (tmp_path / "cut.ckpt").write_bytes(checkpoint.read_bytes()[:-500])
    (tmp_path / "empty.ckpt").touch()
    for name, words in {
        "text": "is not a checkpoint",
        "dict": "a dictionary with the keys 'weights'",
        "bare": "a bare state_dict",
        "cut": "is damaged",
        "empty": "is damaged (it is empty)",
        "nothing": "no such file",
    }.items():
        assert words in refused(tmp_path / f"{name}.ckpt"), name
    assert "is a directory" in refused(tmp_path)
    secret = tmp_path / "secret.ckpt"
    secret.write_bytes(checkpoint.read_bytes())
    secret.chmod(0)
    if not os.access(secret, os.R_OK):  # the superuser may read everything
        assert "no permission" in refused(secret)


def test_a_checkpoint_of_another_backbone(checkpoint: Path) -> None:
    wider = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
    said = refused(checkpoint, wider)
    assert (
        "does not fit the backbone Sequential: `1.weight` has shape (16, 64) there and (32, 64) here; "
        in said
    )
    assert said.count("`3.weight` has shape") == 1
    said = refused(checkpoint, nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.Linear(16, 1)))
    assert (
        "`2.weight` is missing there; `2.bias` is missing there; `3.weight` is unknown here; and 1 more"
        in said
    )


def test_lazy_layers_take_the_sizes_of_the_checkpoint(tmp_path: Path) -> None:
    trained = CE(backbone=MLPScorer(hidden=[5]), input_shape=(1, 8, 8))
    fit(trained, tmp_path, max_epochs=1, limit_val_batches=0)
    module = CE(backbone=MLPScorer(hidden=[5]))
    module.load_backbone(str(tmp_path / "last.ckpt"))
    torch.testing.assert_close(module.backbone.state_dict(), trained.backbone.state_dict(), rtol=0, atol=0)
