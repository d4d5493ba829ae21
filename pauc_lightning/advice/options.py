"""The options of ``pauc advise``. Nothing slow is imported here, so that its help answers at once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.experiments import request
from pauc_lightning.experiments.option_values import minutes, region
from pauc_lightning.experiments.plan import Plan, Tuning
from pauc_lightning.experiments.variant import Variant, option_names

BASELINE = "ce"
EARLY = "ce_early"
"""The label of cross-entropy from its initial weights, which may stop early."""
FEWEST_SEEDS = 3
"""With fewer splits an interval says nothing."""

_NOT_TO_BE_GIVEN = {
    "regions": "give one --region",
    "baseline": f"methods are compared with {BASELINE}",
    "tuned": "all methods are tuned, for as long as --minutes allow",
    "train_part": "the training part is always evaluated",
    "best_of": f"{BASELINE} is chosen among its two starts anyway",
}
"""Options of ``pauc compare`` that ``pauc advise`` sets itself, and what to do instead."""

DESCRIPTION = """\
Find out whether training for the corner of the ROC curve pays on your data:
cross-entropy and the partial-AUC methods are tuned with equal budgets and compared on
several splits, within the time you set. The answer is one sentence, the measurements
behind it, and a figure. Needs Optuna: pip install 'pauc-lightning[tune]'.

  pauc advise -c tabular --data.path patients.csv --data.label died --region 0.05

All other options go to every `pauc fit`, for example --model.backbone LinearScorer.
"""

NOTES = """\
For each split, all methods start from the same cross-entropy warm-up, their settings
are searched on the validation part with the same number of trials for each, and the
best settings are tested once. Cross-entropy gets as many trials again from its initial
weights, where it may stop early; on each split the one of the two that is better on the
validation part is what the methods are compared with. Gains are paired by split; the
interval is corrected for overlapping splits. The same command continues after an
interruption.

--out gets the answer (advice.md, advice.png), the tables of the comparison (table.md,
table.tex, table.csv) and all runs. The last line printed is the command to type next.
"""


@dataclass(frozen=True)
class AdviceRequest:
    """What ``pauc advise`` was asked for.

    Args:
        plan: The comparison; its seeds are the most that are used.
        minutes: The time to spend.
    """

    plan: Plan
    minutes: float


def parse(argv: Sequence[str]) -> AdviceRequest:
    """Read and check the options.

    Raises:
        InputError: If there is a mistake in them.
        SystemExit: After printing the help.
    """
    parser = _parser()
    own, others = parser.parse_known_args(argv)
    for name in option_names(others):
        if name in _NOT_TO_BE_GIVEN:
            raise InputError(f"`--{name}` cannot be given to pauc advise: {_NOT_TO_BE_GIVEN[name]}.")
    region("--region", own.region)  # `pauc compare` would call it by another name
    methods = list(dict.fromkeys([BASELINE, *own.methods]))
    if EARLY in methods:
        raise InputError(f"`--methods {EARLY}`: it is always compared. Leave it out.")
    if len(methods) == 1:
        raise InputError(
            f"`--methods {' '.join(own.methods)}`: name a method besides {BASELINE}, such as upauci."
        )
    if len(own.seeds) < FEWEST_SEEDS:
        raise InputError(
            f"`--seeds {' '.join(own.seeds)}`: give at least {FEWEST_SEEDS}, because an interval over fewer splits "
            "says nothing."
        )
    plan = request.parse(
        [
            *(part for name in own.config for part in ("-c", name)),
            *others,
            *("--methods", *methods, "--regions", own.region, "--seeds", *own.seeds, "--baseline", BASELINE),
            *("--warmup_epochs", own.warmup_epochs, "--epochs", own.epochs, "--out", own.out, "--train_part"),
            *("--processes", own.processes, "--threads", own.threads),
        ]
    )
    if len(plan.tasks) > 1:
        raise InputError("`pauc advise` looks at one data set and one backbone: leave out the other ones.")
    plan = replace(plan, tuning=Tuning(), methods=_with_early_stopping(plan), best_of={})
    return AdviceRequest(plan, minutes("--minutes", own.minutes))


def _with_early_stopping(plan: Plan) -> dict[str, Variant]:
    """Add cross-entropy from its initial weights: at the end of a warm-up it can no longer stop early."""
    baseline = plan.methods[BASELINE]
    if not plan.has_warm_up(BASELINE):  # it starts there already
        return dict(plan.methods)
    others = {label: method for label, method in plan.methods.items() if label != BASELINE}
    return {BASELINE: baseline, EARLY: replace(baseline, start="initial"), **others}


def _parser() -> PlainParser:
    parser = PlainParser(
        prog="pauc advise",
        usage="pauc advise -c DATA --region FPR [--minutes N] [options]",
        description=DESCRIPTION,
        epilog=NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("-c", "--config", action="append", default=[], metavar="NAME", help="config file, as for pauc fit")
    add(
        "--region",
        default="0.05",
        metavar="FPR[,TPR]",
        help="the corner: max_fpr, or max_fpr,min_tpr for a two-way region",
    )
    add("--minutes", default="10", metavar="N", help="time to spend; three splits are always used")
    add(
        "--methods",
        nargs="+",
        default=["partial_auc", "upauci"],
        metavar="NAME",
        help="methods to compare with cross-entropy",
    )
    add(
        "--seeds",
        nargs="+",
        default=["0", "1", "2", "3", "4"],
        metavar="N",
        help="one split per seed, at least three; as many are used as the time allows",
    )
    add(
        "--warmup_epochs",
        default="10",
        metavar="N",
        help="epochs of the cross-entropy warm-up that all methods share",
    )
    add("--epochs", default="30", metavar="N", help="epochs of each method after the warm-up")
    add("--out", default="runs/advise", metavar="DIR", help="directory for all runs")
    add("--processes", default="1", metavar="N", help="trainings at a time, each in its own process")
    add("--threads", default="1", metavar="N", help="threads of one training")
    return parser
