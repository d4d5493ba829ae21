"""Losses, optimizers and metrics for the partial AUC in plain PyTorch, and methods that train with them in Lightning.

``objectives``, ``optim`` and ``metrics`` need no Lightning. ``methods`` combines them with ``data``, ``models`` and
``callbacks``; ``plotting`` draws figures; ``cli``, ``experiments`` and ``benchmarks`` hold the commands of ``pauc``.
:func:`load` returns the model of a run, ready to score.
"""

from typing import TYPE_CHECKING

from pauc_lightning.errors import InputError
from pauc_lightning.lazy import lazy_names
from pauc_lightning.region import Region

if TYPE_CHECKING:
    from pauc_lightning.inference import TrainedModel, load
else:  # torch and Lightning take seconds to import
    __getattr__, __dir__ = lazy_names(__name__, {"inference": ["TrainedModel", "load"]})

__version__ = "0.1.0"
__all__ = ["InputError", "Region", "TrainedModel", "__version__", "load"]
