"""AUC-M: hand-computed steps, the pairwise risk as the saddle value, uneven shards, LibAUC."""

from __future__ import annotations

import pytest
import torch

from pauc_lightning.errors import InputError
from pauc_lightning.objectives.auc_m import AUCMLoss

SCORES, TARGET = torch.tensor([0.75, 0.5, 0.25, 0.0]), torch.tensor([1, 0, 0, 0])


def test_golden_steps() -> None:
    """p = 1/4, one descent-ascent step of size 1 from a = b = α = 0, then another."""
    objective = AUCMLoss(prior=0.25)
    opt = torch.optim.SGD(objective.param_groups(), lr=1.0, weight_decay=0.5)
    scores = SCORES.clone().requires_grad_()
    loss = objective(scores, TARGET)
    loss.backward()
    # ¾·.5625 + ¼(.25 + .0625) + 2(¼·.75 − ¾·.75) = −.25, over 4
    assert loss.item() == pytest.approx(-0.0625)
    assert scores.grad is not None
    # ¾(2·.75 − 2)/4 for the positive; ¼(2f + 2)/4 for the negatives
    assert scores.grad.tolist() == pytest.approx([-0.09375, 0.1875, 0.15625, 0.125])
    opt.step()
    # a: 2·¾·.75/4; b: 2·¼·.75/4; α: +2(¼·.75 − ¾·.75)/4
    assert [v.item() for v in objective.variables().values()] == pytest.approx([0.28125, 0.09375, -0.1875])
    opt.zero_grad()
    objective(SCORES, TARGET).backward()
    opt.step()
    a = 0.28125 + 1.5 * (0.75 - 0.28125) / 4
    b = 0.09375 + 0.5 * (0.75 - 3 * 0.09375) / 4
    alpha = -0.1875 - 0.1875 - 2 * 0.1875 * -0.1875
    assert [v.item() for v in objective.variables().values()] == pytest.approx([a, b, alpha])


@pytest.mark.parametrize("prior", [None, 0.3])
def test_the_saddle_value_is_the_pairwise_risk(prior: float | None) -> None:
    """p(1−p)(R − 1) at the optimum (for p the batch's fraction), where the three derivatives vanish."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(20, generator=generator, dtype=torch.float64)
    target = (torch.arange(20) < 6).long()
    risk = (1 - scores[:6, None] + scores[6:]).square().mean()
    objective = AUCMLoss(prior=prior).double()
    objective.initialize_(scores, target)
    value = objective(scores, target)
    value.backward()
    assert 1 + value.item() / 0.21 == pytest.approx(risk.item())
    for variable in objective.parameters():
        assert variable.grad is not None
        assert variable.grad.item() == pytest.approx(0, abs=1e-12)
    # min over a and b, max over α
    for name, sign in (("a", 1), ("b", 1), ("alpha", -1)):
        variable = getattr(objective, name)
        for change in (-0.1, 0.2):
            with torch.no_grad():
                variable += change
                assert sign * (objective(scores, target) - value) > 1e-4
                variable -= change


def test_descent_ascent_finds_the_saddle() -> None:
    objective, optimum = AUCMLoss(), AUCMLoss()
    optimum.initialize_(SCORES, TARGET)
    opt = torch.optim.SGD(objective.param_groups(lr=0.5, lr_ascent=1.0))
    for _ in range(300):
        opt.zero_grad()
        objective(SCORES, TARGET).backward()
        opt.step()
    torch.testing.assert_close(objective.variables(), optimum.variables(), rtol=0, atol=1e-3)


def test_uneven_shards_average_to_the_union_batch() -> None:
    objective = AUCMLoss(prior=0.3, a=0.5, b=0.25, alpha=-0.1).double()
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(10, generator=generator, dtype=torch.float64)
    target = (torch.arange(10) % 3 == 0).long()
    union = torch.autograd.grad(objective(scores, target), list(objective.parameters()))
    shards = [
        torch.autograd.grad(
            objective(scores[part], target[part], normalizer=5.0), list(objective.parameters())
        )
        for part in (slice(0, 7), slice(7, 10))
    ]
    for whole, first, second in zip(union, *shards, strict=True):
        torch.testing.assert_close((first + second) / 2, whole)


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("prior", [None, 0.3])
def test_a_batch_of_one_class_is_legal(label: int, prior: float | None) -> None:
    scores = torch.rand(5, requires_grad=True)
    objective = AUCMLoss(prior=prior)
    loss = objective(scores, torch.full((5,), label))
    loss.backward()
    assert torch.isfinite(loss)
    other = objective.b if label == 1 else objective.a
    assert other.grad is not None
    assert other.grad.item() == 0
    assert objective(scores[:0], torch.empty(0)).item() == 0


def test_agrees_with_libauc() -> None:
    """Its α is ours plus one, and it adds the constant p(1−p)."""
    losses = pytest.importorskip("libauc.losses.auc")
    p = 0.3
    ours = AUCMLoss(prior=p, a=0.6, b=0.2, alpha=-0.35)
    theirs = losses.AUCMLoss(margin=1.0, imratio=p, device="cpu")
    with torch.no_grad():
        theirs.a.fill_(0.6)
        theirs.b.fill_(0.2)
        theirs.alpha.fill_(1 - 0.35)
    generator = torch.Generator().manual_seed(0)
    f = torch.rand(20, generator=generator).requires_grad_()
    h = f.detach().clone().requires_grad_()
    target = (torch.arange(20) % 4 == 0).long()
    loss, reference = ours(f, target), theirs(h[:, None], target, auto=False)
    loss.backward()
    reference.backward()
    torch.testing.assert_close(loss + p * (1 - p), reference[0])
    torch.testing.assert_close(f.grad, h.grad)
    for name in ("a", "b", "alpha"):
        torch.testing.assert_close(getattr(ours, name).grad, getattr(theirs, name).grad[0])


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match=r"`prior`.*got 0"):
        AUCMLoss(prior=0)
    with pytest.raises(InputError, match=r"got shapes \(2, 1\) and \(2,\)"):
        AUCMLoss()(torch.zeros(2, 1), torch.zeros(2))
    with pytest.raises(InputError, match="both classes, got 0 positives and 2 negatives"):
        AUCMLoss().initialize_(torch.zeros(2), torch.zeros(2))
