"""Scores at which objectives are compared without training: two normal classes, or those of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pauc_lightning.errors import InputError
from pauc_lightning.run_directory import RunDirectory

if TYPE_CHECKING:
    from torch import Tensor

_MOST = 4000
"""Scores of a class that are used: evenly spaced ranks of more give the same curves."""


def normal_scores() -> tuple[Tensor, Tensor]:
    """Sigmoids of normal logits, negatives around −2 and positives around 1, with deviation 1.5, at even ranks."""
    import torch

    ranks = (torch.arange(_MOST, dtype=torch.float64) + 0.5) / _MOST
    normal = 1.5 * torch.special.ndtri(ranks)
    labels = torch.cat([torch.zeros(_MOST), torch.ones(_MOST)]).long()
    return torch.cat([normal - 2, normal + 1]).sigmoid(), labels


def scores_of(run: str) -> tuple[Tensor, Tensor]:
    """The scores of a run's best model on the validation part; of a large part, evenly spaced ranks of each class."""
    import torch

    from pauc_lightning.run_files import read_validation_scores

    saved = read_validation_scores(RunDirectory.open(run).path)
    chosen = []
    for label in (0, 1):
        values = np.sort(saved.score[saved.label == label])
        if len(values) == 0:
            raise InputError(f"The validation part of `{run}` has one class only: choose another run.")
        places = np.linspace(0, len(values) - 1, min(_MOST, len(values))).round().astype(int)
        chosen.append(torch.from_numpy(values[places]))
    labels = torch.cat([torch.full((len(values),), label) for label, values in enumerate(chosen)])
    return torch.cat(chosen), labels
