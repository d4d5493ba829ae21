"""Short names that tell the models of a report apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from pauc_lightning.errors import InputError
from pauc_lightning.report.subject import Subject


def distinct(subjects: Sequence[Subject], names: Sequence[str] | None = None) -> list[Subject]:
    """Give each model a name of its own: the given one, its method, or as much of its path as is needed.

    Raises:
        InputError: If there is not one name for each model, or two are the same.
    """
    if names is not None:
        if len(names) != len(subjects):
            raise InputError(
                f"`names`: {len(subjects)} models need as many names, got {len(names)}: {', '.join(names) or 'none'}."
            )
        chosen = list(names)
    else:
        chosen = _own_names(subjects)
    for name in chosen:
        if not name.strip() or chosen.count(name) > 1:
            raise InputError(
                f"`{name}` names {chosen.count(name)} models of the report: give each a name of its own, with --names."
            )
    return [subject.named(name) for subject, name in zip(subjects, chosen, strict=True)]


def _own_names(subjects: Sequence[Subject]) -> list[str]:
    choices = (
        [subject.name for subject in subjects],
        [f"{subject.name} {PurePath(subject.place).name}" for subject in subjects],
        [f"{subject.name} {'/'.join(PurePath(subject.place).parts[-2:])}" for subject in subjects],
        [subject.place or subject.name for subject in subjects],
    )
    return next((names for names in choices if len(set(names)) == len(names)), choices[-1])
