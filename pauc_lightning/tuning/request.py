"""The request of a search, for ``pauc tune`` and for code that tunes on the way to something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.option_values import method_config
from pauc_lightning.region import Region

Pruning = Literal["median", "none"]


@dataclass(frozen=True)
class TuneRequest:
    """A search: every method gets the same number of trials, each trained with every seed.

    Args:
        configs: Config files, as for ``pauc fit``.
        methods: Names of the methods.
        out: The directory of all trials.
        region: The region to train for; its partial AUC on the validation part is what is maximised.
        trials: Number of trials of each method, the method as it is configured included; None for no limit.
        seconds: No round of trials, one for each method, is started that is not expected to end within this time;
            None for no limit. The first round always runs.
        seeds: A trial is trained once with each seed, and its value is the mean.
        warmup_epochs: Epochs of the common warm-up; 0 means none.
        epochs: Epochs of each training.
        pruning: "median" gives up trainings that are worse than the median at the same epoch; "none" does not.
        search_seed: Decides the proposals.
        options: Options for every ``pauc fit``, such as ``--model.backbone=SmallCNN``.
        method_options: Further options for the ``pauc fit`` of a method, by its name.
        method_configs: Config files of a method, by its name, if they are not ``configs/method/<name>.yaml``.
        from_initial_weights: Methods whose trials start from initial weights and train for the warm-up's epochs, too.
        warm_ups: For each seed, the checkpoint of a finished warm-up to start from; None trains them here.
        threads: Threads of each training; other numbers give other last bits.
        command: The command to be recorded in the results.
    """

    configs: tuple[str, ...]
    methods: tuple[str, ...]
    out: Path
    region: Region = field(default_factory=lambda: Region(0.3))
    trials: int | None = 20
    seconds: float | None = None
    seeds: tuple[int, ...] = (0,)
    warmup_epochs: int = 10
    epochs: int = 20
    pruning: Pruning = "median"
    search_seed: int = 0
    options: tuple[str, ...] = ()
    method_options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    method_configs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    from_initial_weights: tuple[str, ...] = ()
    warm_ups: Mapping[int, Path] | None = None
    threads: int = 1
    command: str = "pauc tune"

    def __post_init__(self) -> None:
        """Reject a request that cannot work."""
        if not self.methods or not self.seeds:
            raise InputError("`methods` and `seeds` must name at least one each: add one.")
        if self.trials is None and self.seconds is None:
            raise InputError(
                "`trials` and `seconds` are both None, so the search never ends: give one of them."
            )
        if self.trials is not None and self.trials < 1:
            raise InputError(
                f"`trials` must be at least 1, got {self.trials}: the first is the method as configured."
            )
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"`seconds` must be above 0, got {self.seconds}: write None for no limit.")
        if self.epochs < 1 or self.warmup_epochs < 0:
            raise InputError(
                f"`epochs` must be at least 1, got {self.epochs}, and `warmup_epochs` at least 0, got "
                f"{self.warmup_epochs}."
            )
        if self.pruning not in get_args(Pruning):
            raise InputError(f"`pruning` must be one of {get_args(Pruning)}, got {self.pruning!r}.")
        if self.warm_ups is not None and set(self.seeds) - set(self.warm_ups):
            raise InputError(
                f"`warm_ups` has no checkpoint for all of the seeds {self.seeds}: add them, or give None."
            )

    def configs_of(self, method: str) -> tuple[Path, ...]:
        """The config files of a method, after those of all."""
        given = self.method_configs.get(method)
        return (method_config(method),) if given is None else tuple(map(Path, given))

    def has_warm_up(self, method: str) -> bool:
        """Whether the trials of a method start at the end of a warm-up."""
        return self.warmup_epochs > 0 and method not in self.from_initial_weights

    def epochs_of(self, method: str) -> int:
        """The number of epochs of a method's trials."""
        is_whole = method in self.from_initial_weights
        return self.warmup_epochs + self.epochs if is_whole else self.epochs

    def options_of(self, method: str) -> tuple[str, ...]:
        """The options of a method's trainings, those of all first."""
        return (*self.options, *self.method_options.get(method, ()))
