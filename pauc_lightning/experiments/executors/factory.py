"""Makes executors from their names."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import signature
from typing import Any

from pauc_lightning.arguments import check_integer
from pauc_lightning.cli.nearest import nearest
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.executors.base import Executor
from pauc_lightning.experiments.inner_run import RunPauc

KINDS = ("process", "processes", "ray", "slurm")


def executor_for(kind: str, n: int, run_pauc: RunPauc, **options: Any) -> Executor:
    """Make an executor.

    Args:
        kind: ``process`` (this process), ``processes`` (several of this machine), ``ray`` or ``slurm`` (a cluster).
        n: Number of jobs that run at the same time; for ``process`` it is 1.
        run_pauc: The ``pauc`` command, which ``process`` calls. The others call it in processes of their own.
        options: Of :class:`RayExecutor` or :class:`SlurmExecutor`.

    Raises:
        InputError: If a value makes no sense, or a package is missing.
    """
    if kind not in KINDS:
        close = nearest(str(kind), KINDS)
        raise InputError(f"`executor` must be one of {', '.join(KINDS)}, got {kind!r}.{close}")
    check_integer("processes", n, at_least=1)
    if kind == "ray":
        from pauc_lightning.experiments.executors.ray_executor import RayExecutor

        _check_names(kind, RayExecutor, options)
        return RayExecutor(n, **options)
    if kind == "slurm":
        from pauc_lightning.experiments.executors.slurm_executor import SlurmExecutor

        _check_names(kind, SlurmExecutor, options)
        return SlurmExecutor(n, **options)
    if options:
        raise InputError(f"`{next(iter(options))}` is no option of the executor {kind!r}: leave it out.")
    if kind == "processes":
        from pauc_lightning.experiments.executors.local_processes import LocalProcesses

        return LocalProcesses(n)
    if n > 1:
        raise InputError(
            f"`processes={n}`, but the executor 'process' runs one job at a time: use 'processes'."
        )
    from pauc_lightning.experiments.executors.in_process import InProcess

    return InProcess(run_pauc)


def _check_names(kind: str, executor: type[Executor], options: Iterable[str]) -> None:
    known = [name for name in signature(executor).parameters if name != "n"]
    for name in options:
        if name not in known:
            raise InputError(
                f"`{name}` is no option of the executor {kind!r}.{nearest(name, known)} It has {', '.join(known)}."
            )
