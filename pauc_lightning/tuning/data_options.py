"""Which options data modules have, to tell an option that these data lack from one that is misspelled."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from pauc_lightning.errors import InputError
from pauc_lightning.nearest import nearest


def check_is_known(where: str, name: str, data: Mapping[str, Any]) -> None:
    """Reject an option that no data module has.

    Data modules of users' own may have any options. So nothing is rejected where the data are one, nor an option of
    one that has been imported, as all of a comparison are before it trains.

    Args:
        where: The place in the search file, for the message.
        name: The option, without ``data.``.
        data: The section ``data`` of the settings of ``pauc fit``, which lack the option.

    Raises:
        InputError: If it is not known.
    """
    if not str(data.get("class_path", "")).startswith("pauc_lightning."):
        return
    known = set(_known())
    if name not in known:
        raise InputError(
            f"{where}: no data module has such an option.{nearest(name, known)} Correct or delete the line."
        )


def _known() -> Iterator[str]:
    from lightning.pytorch import LightningDataModule  # slow to import

    from pauc_lightning.cli.kinds import load_known_classes

    load_known_classes()
    for kind in _below(LightningDataModule):
        yield from inspect.signature(kind).parameters


def _below(base: type) -> Iterator[type]:
    kinds: list[type] = base.__subclasses__()
    for kind in kinds:
        yield kind
        yield from _below(kind)
