"""Any optimizer of torch.optim: built with the right options, refused with a sentence, saved as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from methods.training import fit, small_net, trainer
from torch import nn

from pauc_lightning import InputError
from pauc_lightning.data.sample import Sample
from pauc_lightning.methods import AUCM, CE, MB, SOPAS
from pauc_lightning.methods.optimizers import check_optimizer, optimizer_names


@pytest.mark.parametrize("name", optimizer_names())
def test_every_optimizer_that_is_offered_trains_or_is_refused_with_a_sentence(
    name: str, tmp_path: Path
) -> None:
    module = CE(backbone=small_net(), optimizer=name, weight_decay=0.0, learning_rate=0.001)
    before = small_net().get_parameter("1.weight")
    if name == "Muon":  # matrices only, and the network has biases
        with pytest.raises(
            InputError, match=r"`optimizer=Muon` cannot be built \(Muon only supports 2D parameters"
        ):
            fit(module, tmp_path, max_steps=2, limit_val_batches=0)
        return
    fit(module, tmp_path, max_steps=2, limit_val_batches=0)
    assert not torch.equal(module.backbone.get_parameter("1.weight"), before)


def test_the_settings_reach_the_optimizer() -> None:
    module = MB(
        backbone=small_net(),
        optimizer="AdamW",
        optimizer_options={"betas": [0.8, 0.95], "eps": 1e-6},
        learning_rate=0.003,
        weight_decay=0.2,
    )
    for optimizer in module.configure_optimizers():
        assert type(optimizer) is torch.optim.AdamW
        (group,) = optimizer.param_groups
        assert (group["lr"], group["weight_decay"], group["betas"], group["eps"]) == (
            0.003,
            0.2,
            (0.8, 0.95),
            1e-6,
        )
    (sgd, _) = MB(
        backbone=small_net(), momentum=0.7, optimizer_options={"nesterov": True}
    ).configure_optimizers()
    assert type(sgd) is torch.optim.SGD
    assert (sgd.param_groups[0]["momentum"], sgd.param_groups[0]["nesterov"]) == (0.7, True)


def test_an_ascending_variable_ascends_with_adam() -> None:
    _, optimizer = AUCM(backbone=small_net(), optimizer="Adam").configure_optimizers()
    assert [group.get("maximize") for group in optimizer.param_groups] == [False, False, True]
    _, adam = SOPAS(backbone=small_net(), optimizer="Adam", train_size=5).configure_optimizers()
    assert type(adam) is torch.optim.Adam


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("Adamw", None, r"`optimizer` must be .*, got 'Adamw'\. Did you mean `AdamW`\?"),
        ("LBFGS", None, r"evaluates a batch many times per step: try AdamW"),
        (
            "AdamW",
            {"beta": [0.9, 0.9]},
            r"must be options of AdamW, got 'beta'\. Did you mean `betas`\? It takes",
        ),
        ("AdamW", {"lr": 0.1}, r"must not name `lr`: set `learning_rate` instead"),
        ("AdamW", {"momentum": 0.1}, r"must not name `momentum`"),
        ("AdamW", 3, r"`optimizer_options` must be a mapping, got 3"),
        ("SGD", {"maximize": True}, r"got 'maximize'"),
    ],
)
def test_a_wrong_optimizer_is_refused(name: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_optimizer(name, options)
    with pytest.raises(InputError, match=message):
        CE(backbone=small_net(), optimizer=name, optimizer_options=options)


def test_what_only_the_optimizer_can_refuse() -> None:
    with pytest.raises(
        InputError, match=r"`optimizer=AdamW` cannot be built \(Invalid beta parameter.*: change"
    ):
        CE(
            backbone=small_net(), optimizer="AdamW", optimizer_options={"betas": [2.0, 0.9]}
        ).configure_optimizers()
    with pytest.raises(
        InputError, match=r"`weight_decay` must be 0 with `optimizer=Rprop`, which has none, got 0.0001"
    ):
        CE(backbone=small_net(), optimizer="Rprop").configure_optimizers()


def test_a_step_of_adamw_by_hand(tmp_path: Path) -> None:
    """One step from the first gradient: w − lr·wd·w − lr·g/(|g| + eps)."""
    torch.manual_seed(0)
    x, y = torch.randn(8, 3), torch.tensor([1, 0] * 4)
    net = nn.Linear(3, 1)
    start = net.weight.detach().clone()
    nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), y.float()).backward()
    assert net.weight.grad is not None
    g = net.weight.grad.clone()
    net.zero_grad()
    module = CE(backbone=net, optimizer="AdamW", learning_rate=0.01, weight_decay=0.5)
    rows: Any = [Sample(x, y, torch.arange(8))]
    batches: Any = torch.utils.data.DataLoader(rows, batch_size=None)
    trainer(tmp_path, max_steps=1, callbacks=[]).fit(module, batches)
    torch.testing.assert_close(net.weight.detach(), start - 0.01 * 0.5 * start - 0.01 * g / (g.abs() + 1e-8))


def test_hyperparameters_are_plain_data(tmp_path: Path) -> None:
    module = CE(backbone=small_net(), optimizer="AdamW", optimizer_options={"betas": [0.8, 0.9]})
    fit(module, tmp_path, max_steps=1, limit_val_batches=0)
    loaded = torch.load(tmp_path / "last.ckpt", weights_only=True)["hyper_parameters"]
    assert (loaded["optimizer"], loaded["optimizer_options"]) == ("AdamW", {"betas": [0.8, 0.9]})
    again = CE.load_from_checkpoint(tmp_path / "last.ckpt", backbone=small_net())
    assert again.configure_optimizers()[0].param_groups[0]["betas"] == (0.8, 0.9)
