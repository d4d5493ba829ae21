"""``pauc --help``: all commands with examples. Imports nothing slow."""

from __future__ import annotations

from collections.abc import Iterator

GROUPS = {
    "Train": {
        "fit": "train a method on a data set",
        "resume": "continue a run that was stopped, exactly where it stopped",
    },
    "Choose a method": {
        "advise": "find out whether training for the corner pays on your data",
        "compare": "train several methods from the same warm-up and print one table",
        "tune": "search for the best settings of methods on the validation part",
    },
    "Evaluate": {
        "test": "evaluate a run on the test part",
        "validate": "evaluate a run on the validation part",
        "predict": "score samples, including new data, with a run",
        "evaluate": "intervals and thresholds for scores of any program",
        "export": "write a run's model to one file, for ONNX Runtime or torch",
        "report": "write one HTML page about runs, or about any model's scores",
    },
    "Prepare data": {
        "example": "write an example table to try the other commands on",
        "features": "turn images into a table with a pretrained network",
    },
    "Look around": {
        "configs": "list the config files that -c finds by name",
        "data": "show the parts and classes of a data set",
        "figure": "draw a figure from runs or comparisons, with its data",
        "benchmark": "measure the project's claims on this machine",
    },
}
"""All commands and what they do, grouped."""

COMMANDS = tuple(name for group in GROUPS.values() for name in group)

_EXAMPLES = """\
pauc fit -c digits -c upauci --model.max_fpr 0.1
pauc test runs/DigitsLT-UPAUCI/version_0
pauc resume runs/DigitsLT-UPAUCI/version_0 --trainer.max_epochs 100
pauc predict runs/TabularLT-CE/version_0 --input new.csv --output scores.csv
pauc compare -c digits --methods ce pauci upauci --regions 0.3 0.3,0.7
pauc tune -c digits --methods ce upauci --trials 20
pauc advise -c digits --region 0.1 --minutes 5
pauc figure roc runs/compare
pauc features --images photos --network resnet50 --output features.parquet
pauc report runs/DigitsLT-CE/version_0 runs/DigitsLT-UPAUCI/version_0
"""

_MORE = """\
pauc COMMAND --help              the options of a command
pauc fit --model.help UPAUCI     the settings of a method
pauc fit --data.help TabularLT   the settings of a data set
pauc configs                     the names that -c accepts
"""


def overview() -> str:
    """The text of ``pauc --help``, at most 80 columns wide."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "usage: pauc COMMAND [options]"
    yield ""
    yield "Train and evaluate models for a corner of the ROC curve (partial AUC)."
    width = max(map(len, COMMANDS))
    for title, commands in GROUPS.items():
        yield ""
        yield f"{title}:"
        for name, purpose in commands.items():
            yield f"  {name:<{width}}  {purpose}"
    for title, text in (("Examples", _EXAMPLES), ("Read next", _MORE)):
        yield ""
        yield f"{title}:"
        yield from (f"  {line}" for line in text.splitlines())
