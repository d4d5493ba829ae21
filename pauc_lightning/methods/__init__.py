"""One file, one method."""

from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.ce import CE

__all__ = ["CE", "PartialAUCModule"]
