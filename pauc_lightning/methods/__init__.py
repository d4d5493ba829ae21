"""One file, one method."""

from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.ce import CE
from pauc_lightning.methods.pauci import PAUCI
from pauc_lightning.methods.upauci import UPAUCI

__all__ = ["CE", "PAUCI", "UPAUCI", "PartialAUCModule"]
