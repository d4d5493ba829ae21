"""The files of a search: the best settings, all trials, the table and the figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from pauc_lightning.files import complete_binary_file, write_text
from pauc_lightning.tuning.result import MethodResult, TuneResult
from pauc_lightning.tuning.space import Value


def best_file(out: Path, method: str) -> Path:
    """The file with the best settings of a method."""
    return out / f"best_{method}.yaml"


def save(result: TuneResult) -> None:
    """Save the best settings of each method, all trials, and the table."""
    from pauc_lightning.tuning.best_config import best_config

    out = result.request.out
    for of in result.methods.values():
        best = of.best
        if best is None:
            of.config.unlink(missing_ok=True)  # of an earlier, longer search
        else:
            write_text(of.config, best_config(result, of, best))
    write_text(out / "trials.csv", trials_csv(result))
    write_text(out / "table.md", markdown(result) + "\n")


def save_figure(result: TuneResult) -> Path:
    """Save the figure, and return its file."""
    from pauc_lightning.tuning.figure import plot_search  # matplotlib is slow to import

    path = result.request.out / "tuning.png"
    with complete_binary_file(path) as file:
        plot_search(result).savefig(file, format="png", dpi=150)
    return path


def trials_csv(result: TuneResult) -> str:
    """Write all trials for programs, a row each; values have all digits."""
    keys = list(dict.fromkeys(key for of in result.methods.values() for key in of.space.dimensions))
    seeds = result.request.seeds
    names = ["method", "trial", "state", "value", *(f"seed_{seed}" for seed in seeds), "pruned_at", "seconds"]
    text = io.StringIO()
    writer = csv.DictWriter(text, [*names, *keys, "problem"], restval="", lineterminator="\n")
    writer.writeheader()
    for of in result.methods.values():
        for trial in of.trials:
            values = {f"seed_{run.seed}": run.value for run in trial.runs}
            problems = [problem for run in trial.runs if (problem := run.failure or run.collapse)]
            writer.writerow(
                {
                    **{
                        "method": of.method,
                        "trial": trial.number,
                        "state": trial.state,
                        "value": trial.value,
                    },
                    **values,
                    "pruned_at": next(
                        (run.pruned_at for run in trial.runs if run.pruned_at is not None), None
                    ),
                    "seconds": f"{trial.seconds:.2f}",
                    **{key: as_text(value) for key, value in trial.parameters.items()},
                    "problem": " ".join(problems),
                }
            )
    return text.getvalue()


def header() -> list[str]:
    """The titles of the table's columns."""
    return ["method", "trials", "pruned", "failed", "as configured", "best", "gain", "best settings"]


def rows(result: TuneResult) -> Iterator[list[str]]:
    """Yield the table's rows, one for each method: the method as it is configured against the best."""
    for of in result.methods.values():
        failed = of.count("failed") + of.count("collapsed")
        best, default = of.best, of.default.value
        yield [
            of.method,
            str(len(of.trials)),
            str(of.count("pruned")),
            str(failed),
            of.default.state if default is None else _marked(of, f"{default:.4f}", of.default.state),
            "-" if best is None or best.value is None else _marked(of, f"{best.value:.4f}", best.state),
            "-" if best is None or best.value is None or default is None else f"{best.value - default:+.4f}",
            "-" if best is None else _settings(of),
        ]


def markdown(result: TuneResult) -> str:
    """Write the table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (header(), *rows(result))]
    lines.insert(1, "|" + "---|" * len(header()))
    return "\n".join([title(result), "", *lines, *([""] if (found := notes(result)) else []), *found])


def title(result: TuneResult) -> str:
    """The heading of the table."""
    seeds = result.request.seeds
    over = f", mean over {len(seeds)} seeds" if len(seeds) > 1 else ""
    return f"{result.request.region.title} on the validation part{over}:"


def notes(result: TuneResult) -> list[str]:
    """Sentences below the table: what collapsed, and why methods have no settings."""
    found = []
    for of in result.methods.values():
        if of.space.file is None:
            varied = " and ".join(key.removeprefix("model.") for key in of.space.dimensions)
            found.append(f"{of.method} has no search file: {varied} were varied.")
        if of.method in result.request.from_initial_weights:
            found.append(f"{of.method} starts from its initial weights and may stop early.")
        collapsed = of.count("collapsed")
        if collapsed:
            found.append(
                f"† {collapsed} of the failed trials of {of.method} collapsed in training (trials.csv says how)."
            )
        if of.best is None:
            reason = next((trial.failure for trial in of.trials if trial.failure), "no trial has a value.")
            found.append(f"{of.method} has no best settings. Its first failure: {reason}")
    return found


def as_text(value: Value) -> str:
    """Write a value as in a config file.

    Example:
        >>> as_text(None), as_text(True), as_text(0.5)
        ('null', 'true', '0.5')
    """
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _settings(of: MethodResult) -> str:
    best = of.best
    assert best is not None
    if best.number == 0:
        return "as configured"
    return ", ".join(
        f"{key.removeprefix('model.')} {as_text(value)}" for key, value in best.parameters.items()
    )


def _marked(of: MethodResult, text: str, state: str) -> str:
    return f"{text} †" if state == "collapsed" else text
