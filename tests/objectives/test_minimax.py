"""The fused gradient of PAUCI and UPAUCI against autograd on the equations, in both precisions."""

from __future__ import annotations

import pytest
import torch
from objectives.test_pauci import Constraint, Factory, batch, every_objective, randomize

from pauc_lightning.objectives import MinimaxObjective


@every_objective
@pytest.mark.parametrize("prior", [0.4, None])
@pytest.mark.parametrize("normalizer", [24, 17.0])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-5)])
def test_fused_equals_the_equations(
    make: Factory,
    min_tpr: float,
    constraint: Constraint,
    prior: float | None,
    normalizer: float,
    dtype: torch.dtype,
    tolerance: float,
) -> None:
    objective = randomize(make(min_tpr, constraint, prior)).to(dtype)
    scores, target, index = batch()
    f, y = scores.detach().to(dtype).requires_grad_(), target.to(dtype)
    by = [f, *objective.parameters()]
    stored = index if objective.needs_index else None
    fused, plain = objective.loss(f, y, stored, normalizer), objective.equations(f, y, stored, normalizer)
    torch.testing.assert_close(fused, plain, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(
        torch.autograd.grad(fused, by), torch.autograd.grad(plain, by), rtol=tolerance, atol=tolerance
    )


@every_objective
def test_gradcheck_of_the_equations(make: Factory, min_tpr: float, constraint: Constraint) -> None:
    """The equations are smooth here as well: no selection hides a term from autograd."""
    objective: MinimaxObjective = randomize(make(min_tpr, constraint, 0.4))
    scores, target, index = batch()
    stored = index if objective.needs_index else None

    def value(f: torch.Tensor) -> torch.Tensor:
        return objective.equations(f, target.double(), stored, len(f))

    assert torch.autograd.gradcheck(value, (scores,), eps=1e-7, atol=1e-6)
