"""A trained model in one object: ``load_run`` reads a run, ``trained_model`` scores.

``network`` fills the network that ``build`` made; ``inputs`` turns what a caller gives into its inputs, by
``table_inputs``, ``image_inputs`` or ``tensor_inputs``.
"""

from pauc_lightning.inference.load_run import load
from pauc_lightning.inference.trained_model import TrainedModel

__all__ = ["TrainedModel", "load"]
