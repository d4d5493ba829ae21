"""The methods as LightningModules: one file, one method."""

from pauc_lightning.methods.agd_sbcd import AGDSBCD
from pauc_lightning.methods.auc_exp import AUCExp
from pauc_lightning.methods.auc_m import AUCM
from pauc_lightning.methods.auc_poly import AUCPoly
from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.ce import CE
from pauc_lightning.methods.mb import MB
from pauc_lightning.methods.pauci import PAUCI
from pauc_lightning.methods.sopa import SOPA
from pauc_lightning.methods.sopa_s import SOPAS
from pauc_lightning.methods.upauci import UPAUCI

__all__ = [
    "AGDSBCD",
    "AUCM",
    "CE",
    "MB",
    "PAUCI",
    "SOPA",
    "SOPAS",
    "UPAUCI",
    "AUCExp",
    "AUCPoly",
    "PartialAUCModule",
]
