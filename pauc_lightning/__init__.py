"""Losses, an optimizer and metrics for the partial AUC, on PyTorch Lightning."""

from importlib.metadata import version

from pauc_lightning.errors import InputError
from pauc_lightning.region import Region

__version__ = version("pauc-lightning")
__all__ = ["InputError", "Region", "__version__"]
