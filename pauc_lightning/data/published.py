"""The paper's data sets and the numbers in its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from pauc_lightning.arguments import check_path
from pauc_lightning.data.images import ImageDataModule
from pauc_lightning.errors import InputError


class Published(NamedTuple):
    """A row of the paper's table of data sets.

    Attributes:
        name: The paper's name.
        positives: Ids of the positive classes.
        what: A name for the positive classes together.
        n_pos: Number of positives in the table.
        n_neg: Number of negatives in the table.
        remark: How the table differs from the data, and why.
        counted: Whether the table counts the training part or all parts together.
    """

    name: str
    positives: tuple[int, ...]
    what: str
    n_pos: int
    n_neg: int
    remark: str
    counted: Literal["train", "all"] = "train"


class PublishedImages(ImageDataModule):
    """Images with subsets that the paper uses; the positives are a subset's classes or any others.

    Args:
        root: Folder with the data, to which they are downloaded if they are not there.
        subset: The paper's subset: 1, 2 or 3.
        positive_classes: Ids or names of positive classes, instead of the subset's.
        imbalance_ratio: Ratio of the last class's size to the first's, in (0, 1]; the classes between shrink
            exponentially in the order of their ids. null keeps every image.
        kwargs: Options of every image data module.
    """

    subsets: ClassVar[tuple[Published, ...]]
    """The paper's subsets 1, 2, ... of these images."""
    published_ratio: ClassVar[float | None]
    """The imbalance ratio that gives the paper's counts."""

    def __init__(
        self,
        root: str = "data",
        subset: Literal[1, 2, 3] = 1,
        positive_classes: Sequence[int | str] | None = None,
        imbalance_ratio: float | None = None,
        **kwargs: Any,
    ) -> None:
        check_path("root", root)
        if isinstance(subset, bool) or subset not in range(1, len(self.subsets) + 1):
            raise InputError(
                f"`subset` must be from 1 to {len(self.subsets)}, got {subset!r}; for other positives give "
                "`positive_classes`."
            )
        positives = self.subsets[int(subset) - 1].positives if positive_classes is None else positive_classes
        super().__init__(positives, imbalance_ratio, **kwargs)
        self.root = root

    @property
    def published(self) -> Published | None:
        """The paper's numbers for these data; None if the paper does not use them."""
        if self.imbalance_ratio != self.published_ratio:
            return None
        rows = (row for row in self.subsets if set(row.positives) == set(self.positive_ids))
        return next(rows, None)
