"""The methods' cards in docs/methods: their loops run, and defaults, state and cost are those of the code."""

from __future__ import annotations

import contextlib
import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from pauc_lightning import InputError, objectives
from pauc_lightning.cli import main
from pauc_lightning.objectives import Objective

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs/methods"
SHIPPED = {
    "agd_sbcd": ["agd_sbcd"],
    "auc_exp": ["auc_exp"],
    "auc_m": ["auc_m"],
    "auc_poly": ["auc_poly"],
    "ce": ["ce", "ce_cosine"],
    "hard_ce": ["hard_ce"],
    "mb": ["mb"],
    "partial_auc": ["partial_auc"],
    "pauci": ["pauci"],
    "sopa": ["sopa"],
    "sopa_s": ["sopa_s"],
    "upauci": ["upauci", "upauci_ascent"],
}
"""Cards and their configs, listed by hand: a new method needs no card. If it has one, the tests find it."""
CARDS = sorted({path.stem for path in FOLDER.glob("*.md")} - {"minimax"})
HEADINGS = [
    "What it minimises",
    "Run it",
    "When it wins",
    "What breaks it",
    "Settings that matter",
    "Reference",
]
FACTS = ["config, loss", "regions", "the loss sees", "state", "cost of a batch"]


@cache
def text_of(card: str) -> str:
    return (FOLDER / f"{card}.md").read_text(encoding="utf-8")


def rows_of(text: str) -> list[list[str]]:
    """The cells of all rows of all tables, without the lines below their heads."""
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip(" |") for cell in row] for row in rows if not set("".join(row)) <= set("|- ")]


def facts_of(card: str) -> dict[str, str]:
    """The table at the top."""
    return {name: fact for name, fact, *_ in rows_of(text_of(card).partition("\n## ")[0])}


def code_in(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def configs_of(card: str) -> list[str]:
    return [name for name in code_in(facts_of(card)["config, loss"]) if name.islower()]


def loss_of(card: str, min_tpr: float = 0.0, **options: Any) -> Objective:
    """The loss that the card names, with its defaults."""
    (name,) = (name for name in code_in(facts_of(card)["config, loss"]) if name.endswith("Loss"))
    maker = getattr(objectives, name)
    if "train_size" in maker.__init__.__annotations__:
        options["train_size"] = 100
    made: Objective = maker(max_fpr=0.3, min_tpr=min_tpr, **options)
    return made


# ---------------------------------------------------------------------------------------- which cards there are


def test_every_shipped_method_has_a_card() -> None:
    assert {card: configs_of(card) for card in SHIPPED} == SHIPPED
    shipped = {path.stem for path in (ROOT / "configs/method").glob("*.yaml") if "." not in path.stem}
    for card in CARDS:
        assert {*configs_of(card)} <= shipped


def test_the_overview_and_the_navigation_list_every_card() -> None:
    overview, navigation = (ROOT / "docs/methods.md").read_text(), (ROOT / "mkdocs.yml").read_text()
    for card in CARDS:
        assert f"](methods/{card}.md)" in overview
        assert f": methods/{card}.md\n" in navigation
    for card, configs in SHIPPED.items():
        for config in configs:
            assert f"`{config}`" in overview, card


@pytest.mark.parametrize("card", CARDS)
def test_all_cards_have_the_same_shape(card: str) -> None:
    assert re.findall(r"^## (.+)$", text_of(card), re.MULTILINE) == HEADINGS
    assert [*facts_of(card)] == FACTS
    assert re.match(r"# .+\n\n\*\*[^*]+\*\*", text_of(card)), "the claim comes first, in bold"
    assert re.search(r"## Reference\n(.*\n)*.*\]\(https://", text_of(card)), "a link"


# ---------------------------------------------------------------------------------------- what they show runs


@cache
def printed_by(card: str) -> float:
    """What the loop of the card prints."""
    (block,) = re.findall(r"^```python\n(.*?)^```", text_of(card), re.MULTILINE | re.DOTALL)
    output = io.StringIO()
    with torch.random.fork_rng(), contextlib.redirect_stdout(output):
        exec(compile(block, f"docs/methods/{card}.md", "exec"), {})
    return float(output.getvalue())


@pytest.mark.parametrize("card", CARDS)
def test_the_loop_prints_what_the_card_says(card: str) -> None:
    """Up to what another version of torch may change; cross-entropy is further away than that."""
    (said,) = re.findall(r"# (0\.\d+); ", text_of(card))
    assert printed_by(card) == pytest.approx(float(said), abs=0.004)
    if card != "ce":
        assert "; cross-entropy has 0.834\n" in text_of(card)
        assert printed_by(card) > printed_by("ce") + 0.01


# ---------------------------------------------------------------------------------------- settings and facts


def settings_from(*words: str) -> dict[str, Any]:
    """The method's settings, as ``pauc fit`` resolves them."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), pytest.raises(SystemExit):
        main([*words, "--print_config"])
    settings: dict[str, Any] = yaml.safe_load(output.getvalue())["model"]["init_args"]
    return settings


def said_defaults(card: str) -> dict[str, dict[str, Any]]:
    """The defaults by config: of the first one, and after a semicolon of the others where they differ."""
    main_config, *others = configs_of(card)
    said: dict[str, dict[str, Any]] = {main_config: {}, **{name: {} for name in others}}
    section = text_of(card).partition("## Settings that matter")[2]
    for setting, default, _ in rows_of(section)[1:]:
        (name,), (value, *rest) = code_in(setting), code_in(default)
        differing = dict(zip(rest[::2], rest[1::2], strict=True))
        for config in said:
            said[config][name] = yaml.safe_load(differing.pop(config, value))
        assert not differing, f"{card}: {name} names {differing}"
    return said


@pytest.mark.parametrize("card", CARDS)
def test_defaults_are_those_of_the_command_line(card: str) -> None:
    for config, said in said_defaults(card).items():
        resolved = settings_from("fit", "-c", "digits", "-c", config)
        assert len(said) >= 3
        assert said == {name: resolved.get(name, "no such setting") for name in said}, config


@pytest.mark.parametrize("card", CARDS)
def test_the_command_is_understood(card: str) -> None:
    (command,) = re.findall(r"^```sh\npauc (fit .*)\n```", text_of(card), re.MULTILINE)
    assert settings_from(*command.split())["max_fpr"] == 0.1
    assert {*command.split()} & {*configs_of(card)}


@pytest.mark.parametrize("card", CARDS)
def test_what_the_loss_sees(card: str) -> None:
    sees = {"logits": "logits", "scores in [0, 1]": "scores"}
    (said,) = (takes for words, takes in sees.items() if facts_of(card)["the loss sees"].startswith(words))
    assert said == loss_of(card).takes


@pytest.mark.parametrize("card", CARDS)
def test_two_way_regions_are_taken_or_refused(card: str) -> None:
    if facts_of(card)["regions"].startswith("one-way only"):
        with pytest.raises(InputError, match="one-way regions only"):
            loss_of(card, min_tpr=0.5)
    else:
        assert facts_of(card)["regions"].startswith("one-way, two-way")
        assert loss_of(card, min_tpr=0.5).region.is_two_way


def bytes_per_sample(loss: Objective) -> int:
    buffers = dict(loss.named_buffers())
    return sum(buffers[name].element_size() for name in loss.per_instance_buffers)


@pytest.mark.parametrize("card", CARDS)
def test_state_per_training_sample(card: str) -> None:
    said, loss = facts_of(card)["state"], loss_of(card)
    own = re.match(r"(?:none|(\d+) bytes) per training sample", said)
    assert own is not None
    assert int(own[1] or 0) == bytes_per_sample(loss)
    assert ("batches need sample indices" in said) == loss.needs_index
    if not facts_of(card)["regions"].startswith("one-way only"):
        two_way = re.search(r"two-way (\d+) bytes", said)
        assert int(two_way[1] if two_way else own[1] or 0) == bytes_per_sample(loss_of(card, min_tpr=0.5))
    if card == "upauci":
        assert "`upauci_ascent`: 4 bytes per training sample" in said
        assert bytes_per_sample(loss_of(card, weights="ascent", train_size=100)) == 4


class Work(TorchDispatchMode):
    """Counts the numbers that torch's operations write."""

    numbers = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for value in result if isinstance(result, (tuple, list)) else [result]:
            self.numbers += value.numel() if isinstance(value, Tensor) else 0
        return result


def work_of(card: str, n: int) -> int:
    """Of loss and gradient for n positives and n negatives, at the second visit."""
    loss = loss_of(card)
    target = torch.arange(2 * n) % 2
    with torch.random.fork_rng():
        torch.manual_seed(0)
        scores = torch.rand(2 * n).requires_grad_()
    index = torch.arange(2 * n) % 100 if loss.needs_index else None
    loss(scores, target, index).backward()
    work = Work()  # type: ignore[no-untyped-call]  # torch does not type its constructor
    with work:
        loss(scores, target, index).backward()
    return work.numbers


@pytest.mark.parametrize("card", CARDS)
def test_cost_grows_as_said(card: str) -> None:
    """Four times the batch, four or sixteen times the work."""
    growth = work_of(card, 2048) / work_of(card, 512)
    is_linear = facts_of(card)["cost of a batch"].startswith("$O(n_+ + n_-)$")
    assert growth == pytest.approx(4 if is_linear else 16, rel=0.2)
