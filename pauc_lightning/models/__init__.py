"""Backbones: modules that map a batch of inputs to one logit per sample, shape ``(B,)`` or ``(B, 1)``."""

from pauc_lightning.models.cnn import SmallCNN
from pauc_lightning.models.linear import Linear
from pauc_lightning.models.mlp import MLP
from pauc_lightning.models.resnet import ResNet18
from pauc_lightning.models.timm import TimmModel

__all__ = ["MLP", "Linear", "ResNet18", "SmallCNN", "TimmModel"]
