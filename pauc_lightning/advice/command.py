"""``pauc advise``: train for the corner, or not?"""

from __future__ import annotations

import shlex
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pauc_lightning.advice.options import EARLY, parse
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.cells import Cell
from pauc_lightning.experiments.compare import RunPauc, make_comparison
from pauc_lightning.experiments.plan import Plan

if TYPE_CHECKING:
    from pauc_lightning.advice.evidence import Evidence, MethodEvidence
    from pauc_lightning.advice.verdict import Verdict


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Measure, then print and save the advice.

    Args:
        argv: The command's options.
        run_pauc: The ``pauc`` command itself, called with its arguments.

    Raises:
        SystemExit: With status 130 if it was interrupted.
    """
    request = parse(argv)
    from pauc_lightning.advice.budget import Budget
    from pauc_lightning.advice.evidence import collect
    from pauc_lightning.advice.verdict import verdict
    from pauc_lightning.tuning.proposal import check_installed

    check_installed()
    typed = sys.argv[1:] if sys.argv[1:2] == ["advise"] else ["advise", *argv]
    command = shlex.join(["pauc", *typed])
    budget = Budget(request)

    def is_finished(seed: int) -> bool:
        directory = make_comparison(replace(request.plan, seeds=(seed,)), run_pauc, command).directory
        return all(directory.finished(run) for run in replace(request.plan, seeds=(seed,)).runs)

    failures: dict[Cell, str] = {}
    try:
        for plan in budget.plans(is_finished):
            comparison = make_comparison(plan, run_pauc, command)
            with comparison.held():
                comparison.train()
                comparison.results()  # evaluates the training part, which takes time, too
            failures |= comparison.failures
        whole = replace(request.plan, seeds=tuple(budget.seeds))
        all_splits = make_comparison(whole, run_pauc, command)
        all_splits.failures |= failures
        results = all_splits.results()
    except KeyboardInterrupt:
        print(f"\nInterrupted; finished runs are kept. To continue, type:\n  {command}", file=sys.stderr)
        raise SystemExit(130) from None
    files = results.save()
    evidence = collect(results)
    if evidence is None:
        cell, reason = next(iter(failures.items()))
        raise InputError(
            f"There is no split on which cross-entropy and a method have a value. {cell.title}: {reason}"
        )
    _report(evidence, verdict(evidence), whole, command, files, failures)


def _report(
    evidence: Evidence,
    advice: Verdict,
    plan: Plan,
    command: str,
    files: Sequence[Path],
    failures: Mapping[Cell, str],
) -> None:
    from pauc_lightning.advice.figure import plot_advice
    from pauc_lightning.files import complete_binary_file, write_text

    page, picture = plan.out / "advice.md", plan.out / "advice.png"
    text = "\n".join(
        [
            advice.sentence,
            "",
            *_table(evidence),
            "",
            f"Means over {evidence.n_splits} splits{_tuned(evidence)}; intervals of paired gains, corrected for "
            f"overlapping splits. The method was chosen on the validation parts.{_early(evidence)}",
            *_left_out(failures),
        ]
    )
    write_text(page, f"{text}\n\nMade by: `{command}`\n")
    with complete_binary_file(picture) as file:
        plot_advice(evidence, advice.sentence.partition(":")[0]).savefig(file, format="png", dpi=150)
    print(f"\n{text}\n\nSaved: {', '.join(map(str, [page, picture, *files]))}")
    print(f"Next:  {_next(evidence, advice, plan)}", flush=True)


def _tuned(evidence: Evidence) -> str:
    """Say how much was tuned."""
    fewest, most = min(evidence.trials), max(evidence.trials)
    if most == 1:
        return ", not tuned: the time allowed one trial only, every method as it is configured"
    trials = f"{most}" if fewest == most else f"{fewest} to {most}"
    return f", tuned on their validation parts with {trials} trials of each method"


def _early(evidence: Evidence) -> str:
    """Say what the baseline is."""
    if not evidence.baselines:
        return ""
    n_early = evidence.baselines.count(EARLY)
    return (
        f" So was, on each split, {evidence.baseline.method}: from the warm-up or, with as many trials, from its "
        f"initial weights, where it may stop early (the latter on {n_early} of {evidence.n_splits})."
    )


def _left_out(failures: Mapping[Cell, str]) -> list[str]:
    """Name the runs that failed: their splits do not count, which may flatter a method."""
    if not failures:
        return []
    lines = [f"- {cell.title}: {reason}" for cell, reason in failures.items()]
    return ["", "Failed, so that these splits, or the method on all splits, are left out above:", "", *lines]


def _table(evidence: Evidence) -> list[str]:
    region = evidence.region
    lines = [
        f"| method | {region.title} | gain | TPR at FPR {region.max_fpr:g} | gain | training | validation |",
        "|---|---|---|---|---|---|---|",
    ]
    for of in (evidence.baseline, *evidence.methods):
        gains = ("-", "-") if of is evidence.baseline else _gains(evidence, of)
        means = [f"{statistics.mean(values):.4f}" for values in (of.test, of.tpr, of.train, of.validation)]
        lines.append(
            f"| {of.method} | {means[0]} | {gains[0]} | {means[1]} | {gains[1]} | {means[2]} | {means[3]} |"
        )
    return lines


def _gains(evidence: Evidence, of: MethodEvidence) -> tuple[str, str]:
    texts = []
    for values, others, interval in (
        (of.test, evidence.baseline.test, evidence.interval(of)),
        (of.tpr, evidence.baseline.tpr, evidence.tpr_interval(of)),
    ):
        gain = statistics.mean(values) - statistics.mean(others)
        ends = "" if interval is None else f" [{interval.low:+.4f}, {interval.high:+.4f}]"
        texts.append(f"{gain:+.4f}{ends}")
    return texts[0], texts[1]


def _next(evidence: Evidence, advice: Verdict, plan: Plan) -> str:
    """The command that trains with the settings that the first split found."""
    from pauc_lightning.config_files import name_of_config
    from pauc_lightning.experiments.tuned import Search

    baseline = evidence.baselines[0] if evidence.baselines else plan.baseline
    method = evidence.chosen.method if advice.kind == "corner" else baseline
    folder = plan.out / Search(plan.tasks[0], plan.regions[0], plan.seeds[0]).folder
    configs = [*map(name_of_config, plan.configs), str(folder / f"best_{method}.yaml")]
    words = [part for config in configs for part in ("-c", config)]
    return shlex.join(["pauc", "fit", *words, *plan.extra, "--test_best=true"])
