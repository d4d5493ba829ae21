"""Losses, an optimizer and metrics for the partial AUC, on PyTorch Lightning."""

from pauc_lightning.errors import InputError
from pauc_lightning.region import Region

__version__ = "0.1.0"
__all__ = ["InputError", "Region", "__version__"]
