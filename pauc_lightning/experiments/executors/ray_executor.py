"""Runs jobs on a Ray cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import uuid
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType, TracebackType
from typing import Any

from pauc_lightning import __version__
from pauc_lightning.arguments import check_number
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.executors.base import Job
from pauc_lightning.experiments.executors.messages import Died, Event, Refused
from pauc_lightning.experiments.executors.pool import Events, PoolWorker, WorkerPool
from pauc_lightning.experiments.executors.settings import run_directory
from pauc_lightning.experiments.executors.worker import Worker
from pauc_lightning.experiments.inner_run import Said
from pauc_lightning.experiments.live import Progress

_OBJECT_STORE = 100 * 2**20
"""Bytes of shared memory for a Ray of our own: only short messages go through it."""
_SECONDS_TO_LEAVE = 70.0
_SECONDS_TO_ANSWER = 10.0


class RayExecutor(WorkerPool):
    """Runs jobs on a Ray cluster: the same worker processes as on one machine, which Ray places on its nodes.

    Every node needs this project in the same version, and the directory of the runs at the same path.

    Args:
        n: Number of jobs that run at the same time, if the cluster has room for them.
        address: ``local`` starts a Ray on this machine, ``auto`` joins the cluster that this machine belongs to, and
            ``HOST:PORT`` joins that one. None joins a cluster if this machine belongs to one, else starts a local one.
        gpus_per_job: GPUs that a job occupies; 0.5 lets two jobs share one. Without GPUs a job trains on the CPU.
    """

    def __init__(self, n: int, address: str | None = None, gpus_per_job: float = 0) -> None:
        super().__init__(n)
        check_number("gpus_per_job", gpus_per_job, at_least=0)
        self._gpus = gpus_per_job
        self._ray = _import_ray()
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            _connect(self._ray, address)
        self._marks: dict[Path, Path] = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the jobs, end the workers and leave the cluster."""
        try:
            super().__exit__(kind, error, trace)
        finally:
            for mark in self._marks.values():
                mark.unlink(missing_ok=True)
            if self._is_ours:
                self._ray.shutdown()

    def _new_worker(self, events: Events, job: Job) -> RayWorker:
        self._check_room(job)
        resources = {"num_cpus": job.threads, "num_gpus": self._gpus}
        # Two threads: one waits for the next event, the other can stop the job meanwhile.
        host = self._ray.remote(max_concurrency=2, max_restarts=0, **resources)(Host)
        requirements = (os.getcwd(), str(self._mark(run_directory(job.arguments))), _versions())
        return RayWorker(self._ray, host.remote(), events, job.threads, requirements)

    def _is_kept(self, worker: PoolWorker) -> bool:
        """Only if no job waits for the room that the worker takes up."""
        return not any(isinstance(other, RayWorker) and not other.has_begun for other in self._running)

    def _check_room(self, job: Job) -> None:
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if any(
            node.get("CPU", 0) >= job.threads and node.get("GPU", 0) >= min(1, self._gpus) for node in nodes
        ):
            return
        raise InputError(
            f"No node of the Ray cluster has {job.threads} CPUs and {self._gpus:g} GPUs, which every job needs: ask "
            "for fewer `threads` or `gpus_per_job`, or add such a node."
        )

    def _mark(self, directory: Path) -> Path:
        """A file that a node can see if it shares the directory of the runs with this machine."""
        folder = next(parent for parent in (directory, *directory.parents) if parent.is_dir())
        if folder not in self._marks:
            mark = folder / f".shared-{uuid.uuid4().hex}"
            mark.touch()
            self._marks[folder] = mark
        return self._marks[folder]


class RayWorker:
    """A worker on some node of the cluster, seen from here.

    Args:
        ray: The package.
        host: The handle of the :class:`Host`.
        events: Where its events are put.
        threads: Threads that it has room for.
        requirements: The arguments of :meth:`Host.prepare`.
    """

    def __init__(
        self, ray: ModuleType, host: Any, events: Events, threads: int, requirements: tuple[Any, ...]
    ) -> None:
        self._ray = ray
        self._host = host
        self._events = events
        self._threads = threads
        self._prepared = host.prepare.remote(*requirements)
        self._closed: Any = None
        self.has_begun = False

    def can_run(self, job: Job) -> bool:
        """Whether the job needs the threads that there is room for."""
        return job.threads == self._threads

    def run(self, job: Job) -> None:
        """Start a job, as soon as there is room."""
        threading.Thread(target=self._follow, args=(job,), daemon=True).start()

    def stop(self) -> None:
        """Stop the job with its state saved; one that has not begun is dropped."""
        if self.has_begun:
            self._host.stop.remote()
        else:
            self.kill()

    def kill(self) -> None:
        """End the worker at once."""
        self._ray.kill(self._host)

    def dismiss(self) -> None:
        """Let the worker end."""
        self._closed = self._host.close.remote()

    def close(self) -> None:
        """Wait until the worker has ended."""
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.get(self._closed or self._host.close.remote(), timeout=_SECONDS_TO_LEAVE)
        self.kill()

    def _follow(self, job: Job) -> None:
        """Pass on what the host says about a job, until it ends."""
        exceptions = self._ray.exceptions
        try:
            complaint = self._ray.get(self._prepared)
            self.has_begun = True
            if complaint is not None:
                self._events.put((self, Refused(complaint)))
                return
            self._ray.get(self._host.run.remote(job))
            while True:
                for event in self._ray.get(self._host.next.remote()):
                    self._events.put((self, event))
                    if not isinstance(event, Progress):
                        return
        except exceptions.RayTaskError as error:
            self._events.put((self, Refused(f"A node cannot run jobs: {_last_line(error)}.")))
        except exceptions.RayError as error:
            text = f"{error}\n"
            self._events.put((self, Died("its Ray worker or the node under it was lost", Said(text))))


class Host:
    """The part of a worker that lives on its node: it starts the process that runs the jobs, and speaks with it."""

    def __init__(self) -> None:
        self._events: SimpleQueue[tuple[Worker, Event]] = SimpleQueue()
        self._worker: Worker | None = None

    def prepare(self, directory: str, mark: str, versions: dict[str, str]) -> str | None:
        """Start the process.

        Args:
            directory: The directory in which it works.
            mark: A file that this node must see.
            versions: The versions that the packages must have.

        Returns:
            Why no job can run here; None if all is well.
        """
        node = socket.gethostname()
        if not os.path.isfile(mark) or not os.path.isdir(directory):
            missing = directory if not os.path.isdir(directory) else os.path.dirname(mark)
            return (
                f"The node {node} of the Ray cluster does not see `{missing}`: put the runs, and the directory in "
                "which you start the command, on a file system that all nodes share."
            )
        own = _versions()
        for package, wanted in versions.items():
            if own[package] != wanted:
                return (
                    f"The node {node} of the Ray cluster has {package} {own[package]}, but this machine has {wanted}: "
                    "install the same version."
                )
        self._worker = Worker(self._events, directory=directory)
        return None

    def run(self, job: Job) -> None:
        """Start a job."""
        assert self._worker is not None
        self._worker.run(job)

    def next(self) -> list[Event]:
        """Wait for the next events of the job."""
        events = [self._events.get()[1]]
        while not self._events.empty():
            events.append(self._events.get()[1])
        return events

    def stop(self) -> None:
        """Stop the job."""
        if self._worker is not None:
            self._worker.stop()

    def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.close()


def _import_ray() -> ModuleType:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would print a notice, and report to its makers
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")  # unset, it prints a warning
    try:
        import ray
    except ImportError:
        raise InputError(
            "The executor 'ray' needs the package Ray: pip install 'pauc-lightning[ray]'."
        ) from None
    return ray


def _connect(ray: ModuleType, address: str | None) -> None:
    """Join a cluster or start one, without Ray's messages."""
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    local = {**quiet, "include_dashboard": False, "object_store_memory": _OBJECT_STORE}
    if address is None:
        try:
            ray.init(address="auto", **quiet)
        except ConnectionError:
            ray.init(address="local", **local)
        return
    if address not in ("auto", "local"):
        _check_reachable(address)
    try:
        ray.init(address=address, **(local if address == "local" else quiet))
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(_no_answer(address, error)) from error


def _check_reachable(address: str) -> None:
    """Raise :class:`InputError` unless something listens at the address; Ray itself would try for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        raise InputError(
            f"`address` must be local, auto or HOST:PORT, such as 10.0.0.1:6379, got {address!r}."
        )
    try:
        socket.create_connection((host, int(port)), _SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise InputError(_no_answer(address, error)) from error


def _no_answer(address: str, error: BaseException) -> str:
    remedy = "start one with `ray start --head`" if address == "auto" else "check the address"
    return f"No Ray cluster answers at `address={address}` ({_last_line(error)}): {remedy}, or use `local`."


def _versions() -> dict[str, str]:
    """The versions that decide the results."""
    return {"pauc-lightning": __version__, **{name: version(name) for name in ("torch", "lightning")}}


def _last_line(error: BaseException) -> str:
    lines: Sequence[str] = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1].strip().rstrip(".")
