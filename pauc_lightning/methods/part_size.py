"""Checks that a part of the data has samples in every region that is reported, before anything is trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pauc_lightning.errors import InputError
from pauc_lightning.region import Region

_PARTS = {"val": "validation", "test": "test"}


def check_part(
    part: Literal["val", "test"], n_pos: int, n_neg: int, region: Region, others: Sequence[Region]
) -> None:
    """Refuse a part that is too small for a region.

    Args:
        part: The part.
        n_pos: Its positives.
        n_neg: Its negatives.
        region: The optimised region.
        others: The regions that are reported besides, which may be the default ones.

    Raises:
        InputError: If a region holds none of the positives or none of the negatives.

    Example:
        >>> check_part("val", 1, 40, Region(0.3), [Region(0.3, min_tpr=0.7)])
        Traceback (most recent call last):
        ...
        pauc_lightning.errors.InputError: The validation part has 1 positive, which is too few for TPAUC ...
    """
    for one in (region, *others):
        positives, first, last = one.counts(n_pos, n_neg)
        if positives > 0 and last > first:
            continue
        number, kind = (n_pos, "positive") if positives == 0 else (n_neg, "negative")
        has = f"The {_PARTS[part]} part has {number} {kind}{'' if number == 1 else 's'}, which is too few for"
        more = "give more data or another split (`--data.seed`)"
        if one == region:
            lower = "a lower `min_tpr`" if positives == 0 else "a larger `max_fpr`"
            raise InputError(f"{has} {one.title}, the optimised region: {more}, or {lower}.")
        raise InputError(
            f"{has} {one.title}, one of the regions that are reported besides the optimised one: {more}, or do not "
            "report them: `--model.regions '[]'`."
        )
