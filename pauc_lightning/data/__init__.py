"""Long-tailed binary data.

- Data modules: ``base``; ``images`` with ``cifar``, ``tiny_imagenet``, ``inaturalist``, ``fashion_mnist`` and
  ``image_folder``; ``tabular``; ``digits`` and ``gaussian``.
- From a data set to batches: ``source``, ``kept_sources``, ``longtail``, ``splits``, ``dataset``, ``samplers``,
  ``loader``, ``sample``.
- Images: ``image_files``, ``image_cache``, ``new_images``, ``augment``. Tables: ``table_reader``, ``table_labels``,
  ``table_encoding``, ``table_state``.
- Files: ``download``, ``unpack``, ``idx``, ``storage``, ``preprocessing``. The paper's numbers: ``published``.
"""

from typing import TYPE_CHECKING

from pauc_lightning.lazy import lazy_names

if TYPE_CHECKING:
    from pauc_lightning.data.base import ClassCounts, LongTailDataModule
    from pauc_lightning.data.cifar import CIFAR10LT, CIFAR100LT
    from pauc_lightning.data.dataset import InMemoryDataset
    from pauc_lightning.data.digits import DigitsLT
    from pauc_lightning.data.fashion_mnist import FashionMNISTLT
    from pauc_lightning.data.gaussian import GaussianLT
    from pauc_lightning.data.image_folder import ImageFolderLT
    from pauc_lightning.data.images import ImageDataModule
    from pauc_lightning.data.inaturalist import INaturalist2021
    from pauc_lightning.data.loader import ResumableLoader
    from pauc_lightning.data.longtail import Split, binary_targets, long_tail_counts, split_long_tail
    from pauc_lightning.data.sample import Sample
    from pauc_lightning.data.samplers import ShardedSampler, ShuffledBatchSampler, StratifiedBatchSampler
    from pauc_lightning.data.source import NewData, Source
    from pauc_lightning.data.tabular import TabularLT
    from pauc_lightning.data.tiny_imagenet import TinyImageNetLT
else:  # the samplers need no Lightning, and no data set needs the libraries of another
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "base": ["ClassCounts", "LongTailDataModule"],
            "cifar": ["CIFAR10LT", "CIFAR100LT"],
            "dataset": ["InMemoryDataset"],
            "digits": ["DigitsLT"],
            "fashion_mnist": ["FashionMNISTLT"],
            "gaussian": ["GaussianLT"],
            "image_folder": ["ImageFolderLT"],
            "images": ["ImageDataModule"],
            "inaturalist": ["INaturalist2021"],
            "loader": ["ResumableLoader"],
            "longtail": ["Split", "binary_targets", "long_tail_counts", "split_long_tail"],
            "sample": ["Sample"],
            "samplers": ["ShardedSampler", "ShuffledBatchSampler", "StratifiedBatchSampler"],
            "source": ["NewData", "Source"],
            "tabular": ["TabularLT"],
            "tiny_imagenet": ["TinyImageNetLT"],
        },
    )

__all__ = [
    "CIFAR10LT",
    "CIFAR100LT",
    "ClassCounts",
    "DigitsLT",
    "FashionMNISTLT",
    "GaussianLT",
    "INaturalist2021",
    "ImageDataModule",
    "ImageFolderLT",
    "InMemoryDataset",
    "LongTailDataModule",
    "NewData",
    "ResumableLoader",
    "Sample",
    "ShardedSampler",
    "ShuffledBatchSampler",
    "Source",
    "Split",
    "StratifiedBatchSampler",
    "TabularLT",
    "TinyImageNetLT",
    "binary_targets",
    "long_tail_counts",
    "split_long_tail",
]
