"""Losses, optimizers and metrics for the partial AUC in plain PyTorch, and methods that train with them in Lightning.

``objectives``, ``optim`` and ``metrics`` need no Lightning. ``methods`` combines them with ``data``, ``models`` and
``callbacks``; ``plotting`` draws figures; ``cli``, ``experiments`` and ``benchmarks`` hold the commands of ``pauc``.
"""

from pauc_lightning.errors import InputError
from pauc_lightning.region import Region

__version__ = "0.1.0"
__all__ = ["InputError", "Region", "__version__"]
