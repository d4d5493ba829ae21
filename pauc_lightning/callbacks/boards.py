"""Images and histograms for the loggers that show them: W&B and TensorBoard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger
from numpy.typing import NDArray


def shows_media(logger: Logger) -> bool:
    """Whether a logger takes images and histograms."""
    return isinstance(logger, (WandbLogger, TensorBoardLogger))


def logged_at(trainer: Trainer) -> int:
    """The step under which Lightning logs the values of an evaluation at this moment."""
    return int(trainer.fit_loop.epoch_loop._batches_that_stepped)


def log_image(logger: Logger, name: str, path: Path, step: int) -> None:
    """Send an image file; loggers that show no images ignore it. On one rank.

    Args:
        logger: Any logger.
        name: The image's name.
        path: A PNG file.
        step: The step that it belongs to.
    """
    if isinstance(logger, WandbLogger):
        logger.log_image(name, [str(path)], step)
    elif isinstance(logger, TensorBoardLogger) and _is_new(logger, name, step):
        from PIL import Image

        with Image.open(path) as image:
            logger.experiment.add_image(name, np.asarray(image.convert("RGB")), step, dataformats="HWC")


def log_histogram(logger: Logger, name: str, values: NDArray[np.float64], bins: int, step: int) -> None:
    """Send a histogram over [0, 1]; loggers that show none ignore it. On one rank.

    Args:
        logger: Any logger.
        name: The histogram's name.
        values: At least one number in [0, 1].
        bins: Number of bins, the same at every step.
        step: The step that it belongs to.
    """
    if isinstance(logger, WandbLogger):
        import wandb

        logger.log_metrics({name: wandb.Histogram(np_histogram=_histogram(values, bins))}, step)  # type: ignore[dict-item]
    elif isinstance(logger, TensorBoardLogger) and _is_new(logger, name, step):
        counts, edges = _histogram(values, bins)
        logger.experiment.add_histogram_raw(
            name,
            min=float(values.min()),
            max=float(values.max()),
            num=len(values),
            sum=float(values.sum()),
            sum_squares=float(values @ values),
            bucket_limits=edges[1:].tolist(),
            bucket_counts=counts.tolist(),
            global_step=step,
        )


def _histogram(values: NDArray[np.float64], bins: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    counts, edges = np.histogram(values, bins, range=(0.0, 1.0))
    return counts, edges


def _is_new(logger: Logger, name: str, step: int) -> bool:
    """Whether a logger that remembers what it was given has not had this."""
    remembers = getattr(logger, "is_new", None)
    return True if remembers is None else bool(remembers(name, step))
