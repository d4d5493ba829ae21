"""Backbones: modules that map a batch of inputs to one logit per sample, of shape ``(B,)`` or ``(B, 1)``.

``linear`` and ``mlp`` for any input; ``cnn``, ``resnet`` and ``timm`` for images, with the input check in ``images``.
``backbone`` checks a user's own.
"""

from pauc_lightning.models.cnn import SmallCNN
from pauc_lightning.models.linear import LinearScorer
from pauc_lightning.models.mlp import MLPScorer
from pauc_lightning.models.resnet import ResNet18
from pauc_lightning.models.timm import TimmModel

__all__ = ["LinearScorer", "MLPScorer", "ResNet18", "SmallCNN", "TimmModel"]
