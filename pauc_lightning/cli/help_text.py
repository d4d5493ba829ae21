"""Help that a person can read: what there is, and lists of subclasses without torch's hundreds."""

from __future__ import annotations

import re
import textwrap

COMMANDS = {
    "fit": "train a method",
    "resume": "go on with a run that was stopped",
    "validate": "evaluate a run on the validation part",
    "test": "evaluate a run on the test part",
    "predict": "score samples with a run",
    "compare": "methods side by side, from the same warm-up, several seeds",
    "data": "what a data set consists of",
    "configs": "the config files that may be given by name",
    "benchmark": "the measurements behind the project's claims",
}
"""All commands, and what they do."""

OVERVIEW = f"""\
usage: pauc COMMAND [options]

Train and evaluate models for a corner of the ROC curve.

{chr(10).join(f"  {name:<10} {what}" for name, what in COMMANDS.items())}

examples:
  pauc fit -c digits -c ce
  pauc resume runs/DigitsLT-CE/version_0 --trainer.max_epochs=100
  pauc test runs/DigitsLT-CE/version_0
  pauc predict runs/TabularLT-CE/version_0 --input new.csv --output scores.csv
  pauc compare -c digits --methods ce pauci upauci --regions 0.3 0.3,0.7
  pauc data -c digits
  pauc benchmark metric

Later files and options win over earlier ones. `pauc COMMAND --help` lists what can be set;
`pauc fit --model.help CE` and `pauc fit --data.help DigitsLT` explain one class.
"""

_SUBCLASSES = re.compile(r"^( +)([^\n]*?)known\s+subclasses:\s+(.*?)\)", flags=re.DOTALL | re.MULTILINE)
_MANY = 15


def shorten(text: str) -> str:
    """Leave only this project's backbones in long lists of known subclasses.

    Example:
        >>> names = ", ".join(f"torch.nn.Layer{i}" for i in range(20))
        >>> print(shorten(f"    (known subclasses: {names}, pauc_lightning.models.SmallCNN)"))
            (known subclasses: pauc_lightning.models.SmallCNN, or the import
            path of a class of yours)
    """

    def replace(match: re.Match[str]) -> str:
        indent, before, names = match.groups()
        classes = re.sub(r"\s", "", names).split(",")
        ours = [name for name in classes if name.startswith("pauc_lightning.models.")]
        if len(classes) <= _MANY or not ours:
            return match.group(0)
        sentence = f"{before}known subclasses: {', '.join(ours)}, or the import path of a class of yours)"
        width = max(70, len(indent) + 56)
        return textwrap.fill(
            sentence, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False
        )

    return _SUBCLASSES.sub(replace, text)
