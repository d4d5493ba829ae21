"""Turns the parser's complaints into one sentence: what was given, what is wrong, what was probably meant."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import takewhile

from jsonargparse import ArgumentParser

from pauc_lightning.cli.given import Given
from pauc_lightning.cli.kinds import KINDS, Kind, find_class, kind_of
from pauc_lightning.cli.nearest import nearest

_LONGEST_VALUE = 60
_MOST_NAMES = 14
_REGIONS = "a list of regions, such as [{max_fpr: 0.3}, {max_fpr: 0.3, min_tpr: 0.7}]"
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "NoneType": "null",
    "list": "a list, such as [a, b]",
    "collections.abc.Sequence": "a list, such as [a, b]",
    "collections.abc.Iterable": "a list, such as [a, b]",
    "dict": "a mapping, such as {a: 1}",
}
_FORGOTTEN = {
    "data": "no data are named: add, for example, -c digits, or --data=<class>",
    "model": "no method is named: add, for example, -c upauci, or --model=<class>",
    "config": "no config file is named: add -c <file.yaml>",
}


def explain(parser: ArgumentParser, message: str, arguments: Sequence[str] = ()) -> str:
    """One sentence instead of the parser's message.

    Args:
        parser: The parser that complains; its options are the valid keys.
        message: What it complains about.
        arguments: What the user gave.
    """
    complaint = _innermost(message)
    context = _Context(parser, Given(arguments), complaint)
    for pattern, describe in _DESCRIPTIONS:
        match = re.search(pattern, complaint.text, flags=re.DOTALL)
        if match:
            return describe(match, context)
    return _one_line(message)


@dataclass(frozen=True)
class _Complaint:
    """The innermost of the parser's nested complaints: the cause of the others.

    Args:
        key: The dotted name of the option it is about; empty if the parser does not tell.
        owner: Import path of the class that has this option, or was to have it; empty if there is none.
        text: The complaint.
    """

    key: str
    owner: str
    text: str


def _innermost(message: str) -> _Complaint:
    """Find the innermost complaint by its indentation."""
    lines = message.splitlines()
    keys: list[tuple[int, str]] = []  # indentation and name, of the option and of those it belongs to
    deepest: list[tuple[int, str]] = []
    start = 0
    for number, line in enumerate(lines):
        if found := re.search(r'Parser key "([\w.]+)"', line):
            indent = found.start()
            keys = [(other, name) for other, name in keys if other < indent and name != found[1]]
            keys.append((indent, found[1]))
            if len(keys) > len(deepest):
                deepest, start = list(keys), number
    if not deepest:
        return _Complaint("", "", message)
    indent = deepest[-1][0]
    inside = takewhile(lambda line: not line.strip() or _indentation(line) > indent, lines[start + 1 :])
    text = "\n".join([lines[start], *(inside if indent else lines[start + 1 :])])
    before = "\n".join([*lines[:start], text])
    return _Complaint(
        ".".join(name for _, name in deepest),
        _last(r"Problem with given class_path '([\w.]+)'", before),
        text,
    )


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


@dataclass(frozen=True)
class _Context:
    """What a description may need besides the words that were found."""

    parser: ArgumentParser
    given: Given
    complaint: _Complaint

    @property
    def command(self) -> str:
        """The command as the user typed it."""
        program, arguments = self.parser.prog.replace(" [options]", ""), self.given.arguments
        is_whole = " " in program or not arguments or arguments[0].startswith("-")
        return program if is_whole else f"{program} {arguments[0]}"

    @property
    def kind(self) -> Kind | None:
        """The kind of class that the option takes."""
        return KINDS.get(self.complaint.key.rpartition(".")[2])

    def quote(self, value: object = "") -> str:
        """What the user wrote for the option."""
        key = self.complaint.key
        setting = self.given.find(key, value)
        return setting.quote if setting else f"`--{key}={value}`"


# ---------------------------------------------------------------------- names of options


def _unrecognized(match: re.Match[str], context: _Context) -> str:
    word, command = match[1].partition("=")[0], context.command
    if word.startswith("--"):
        close = nearest(word[2:], _keys(context.parser), "--")
        return f"`{word}` is not an option of `{command}`.{close} `{command} --help` lists all options."
    if word.startswith("-"):
        return f"`{word}` is not an option of `{command}`: long options begin with two dashes, as in --model."
    return (
        f"`{word}` cannot be used here: `{command}` takes options only, such as `-c <file.yaml>` or `--model=CE`; "
        "lists are written as one word, such as [1,2]."
    )


def _without_value(match: re.Match[str], context: _Context) -> str:
    arguments = context.given.arguments
    alone = [
        option
        for option, after in zip(arguments, [*arguments[1:], "--"], strict=False)
        if option.startswith(match[1]) and "=" not in option and after.startswith("-")
    ]
    name = (alone or [match[1]])[-1]
    return f"`{name}` needs a value: write `{name}=<value>`."


def _rejected(match: re.Match[str], context: _Context) -> str:
    """An option that a class does not have, or a key in a file that no option has."""
    name, owner = match[1], find_class(context.complaint.owner)
    key = ".".join(part for part in (context.complaint.key, name) if part)
    setting = context.given.find(key) or context.given.find(name)
    quote = setting.quote if setting else f"`{key}`"
    if owner is None:
        close = nearest(key, _keys(context.parser))
        return f"{quote}: there is no such option.{close} `{context.command} --help` lists all options."
    options = sorted(_parameters(owner))
    close = nearest(name, [*options, "class_path", "init_args"])
    has = (
        f"It has {', '.join(options)}."
        if options
        else f"It has none: first name a class with --{context.complaint.key}."
    )
    return f"{quote}: {owner.__name__} has no option `{name}`.{close} {has}"


def _missing(match: re.Match[str], context: _Context) -> str:
    names = [name.strip().rpartition(".")[2] for name in match[1].split(",")]
    owner = find_class(context.complaint.owner)
    if owner is None:
        forgotten = [_FORGOTTEN.get(name, f"`{name}` is missing: add --{name}=<value>") for name in names]
        return f"`{context.command}`: {'; '.join(forgotten)}."
    if names == ["backbone"]:
        return _missing_backbone(context)
    options = " ".join(f"--{context.complaint.key}.{name}=<value>" for name in names)
    return f"{owner.__name__} needs {' and '.join(f'`{name}`' for name in names)}: add {options}."


def _missing_backbone(context: _Context) -> str:
    kind = KINDS["backbone"]
    if context.complaint.key.endswith("backbone"):
        name = context.complaint.owner.rpartition(".")[2]
        return f"{context.quote()}: {name} is a method, not a backbone. {_choice(kind)}"
    return f"No backbone is named (the network that scores the inputs): add --model.backbone=<name>. {_choice(kind)}"


# ---------------------------------------------------------------------- classes


def _unknown_class(match: re.Match[str], context: _Context) -> str:
    name, kind = match[1], context.kind
    quote = context.quote(name)
    if kind is None:
        return f"{quote}: `{name}` is not a known class. Give its import path, such as my_file.MyClass."
    other = kind_of(name)
    if other is not None and other is not kind:
        return f"{quote}: {name} is {other.title} (for {other.option}), not {kind.title}. {_choice(kind)}"
    return f"{quote}: `{name}` is not {kind.title}.{nearest(name, kind.names)} {_choice(kind)}"


def _not_importable(match: re.Match[str], context: _Context) -> str:
    path = match[1]
    reason = _one_line(re.split(r"\n\s+- |\n\s*Given value", match[2])[0])
    quote = context.quote(path)
    module, _, name = path.rpartition(".")
    if "No module named" in reason:
        return (
            f"{quote}: {reason}. Check the spelling, and run the command in the directory of "
            f"{module.partition('.')[0]}.py, or install its package."
        )
    if "has no attribute" in reason:
        classes = [key for key, value in vars(import_module(module)).items() if isinstance(value, type)]
        return (
            f"{quote}: the module {module} has no class {name}.{nearest(name, classes)} Check its spelling."
        )
    return f"{quote}: the module {module} cannot be imported ({reason}). Correct it, or give another class."


def _raised(match: re.Match[str], context: _Context) -> str:
    """A module of the user's that raises something when it is imported."""
    nested = re.search(r"NestedArg\(key='([\w.]+)', val='(.*)'\)", context.complaint.text)
    key = f"{context.complaint.key}.{nested[1]}" if nested else context.complaint.key
    setting = context.given.find(key)
    quote = setting.quote if setting else f"`--{key}`"
    return f"{quote}: this cannot be imported ({match[1].rstrip('.')}). Correct its module, or give another class."


def _wrong_base(match: re.Match[str], context: _Context) -> str:
    kind = context.kind
    if kind is None:
        return f"{context.quote()}: this is not a {match[1]}. Give a class that derives from {match[1]}."
    name = context.given.class_name(context.complaint.key) or ""
    package = kind.base.__module__.partition(".")[0]
    return (
        f"{context.quote(name)}: this is not {kind.title}, a class that derives from {package}'s {match[1]}. "
        f"{_choice(kind)}"
    )


def _not_a_class(match: re.Match[str], context: _Context) -> str:
    """Neither the name of a class nor its settings."""
    if match[1] == "Region":
        return f"{context.quote()}: give {_REGIONS}."
    title = context.kind.title if context.kind else f"a {match[1]}"
    return f"{context.quote()}: give the name of {title}, or a mapping with class_path and init_args."


def _choice(kind: Kind) -> str:
    names = kind.names
    known = ", ".join(names[:_MOST_NAMES]) + (" and others" if len(names) > _MOST_NAMES else "")
    return f"Known: {known}; one of your own is given by its import path, such as {kind.own}."


# ---------------------------------------------------------------------- values


def _wrong_type(match: re.Match[str], context: _Context) -> str:
    text = context.complaint.text
    value = _last(r"(?:Got value|Given value): (.*)", text).strip()
    types = _last(r"Subtypes: \[(.*)\]\n", text) or _last(r"Expected a (.+?)(?:\. Got|\n|$)", text)
    short = value if len(value) <= _LONGEST_VALUE else value[:_LONGEST_VALUE] + "..."
    but = f", not `{short}`" if short else ""
    return f"{context.quote(value)}: give {_accepted(types)}{but}.{nearest(value, _literals(types))}"


def _accepted(types: str) -> str:
    """The types of a message in words."""
    if "Region" in types:
        return f"{_REGIONS}, or null"
    literals = _literals(types)
    words = [f"one of {', '.join(dict.fromkeys(literals))}"] if literals else []
    names = re.findall(r"<class '([\w.]+)'>", types)
    words += [_TYPES.get(name, f"a {name.rpartition('.')[2]}") for name in names]
    if re.search(r"\b(list|tuple|Sequence|Iterable)\[", types):
        words.append(_TYPES["list"])
    return " or ".join(dict.fromkeys(words)) or types


def _literals(types: str) -> list[str]:
    """The values of all ``Literal[...]``."""
    groups = re.findall(r"Literal\[(.*?)\]", types)
    return [name.strip("' ") for group in groups for name in group.split(",")]


def _no_settings(match: re.Match[str], context: _Context) -> str:
    key = context.complaint.key
    return (
        f"`--{key}={match[1]}`: give single settings, as `--{key}.<name>=<value>`, or a YAML file with them; "
        f"`{context.command} --help` lists their names."
    )


# ---------------------------------------------------------------------- helpers

_DESCRIPTIONS: Sequence[tuple[str, Callable[[re.Match[str], _Context], str]]] = (
    (r"unrecognized arguments?: (\S+)", _unrecognized),
    (r"argument (\S+?)(?:/\S+)?: expected (?:at least )?one argument", _without_value),
    (r"(?:[Oo]ption|[Kk]ey) '([\w.]+)' is not (?:accepted|expected)", _rejected),
    (r"does not accept option '([\w.]+)'", _rejected),
    (r"the following arguments are required: ([\w., ]+)", _missing),
    (r"Problem with given class_path '([\w.]+)':\s+(.*)", _not_importable),
    (r"Expected a dot import path string: (\S+)", _unknown_class),
    (r"does not correspond to a subclass of (\w+)", _wrong_base),
    (r"Unable to load config ['\"](.*?)['\"]", _no_settings),
    (r"Not a valid subclass of (\w+)", _not_a_class),
    (r"Errors:\s+- (?!Expected|Import path)([^\n]+)", _raised),
    (r"Expected a (\S+)", _wrong_type),
)
"""What the parser says, and who finds better words for it; the first that is found counts."""


def _last(pattern: str, text: str) -> str:
    found = re.findall(pattern, text)
    return found[-1] if found else ""


def _one_line(message: str) -> str:
    """A message without its line breaks and bullets."""
    lines = (line.strip().removeprefix("- ") for line in message.splitlines())
    return " ".join(line for line in lines if line).rstrip(".")


def _parameters(member: type) -> Iterator[str]:
    """The arguments of a class and of those it derives from, as the parser resolves them."""
    parser = ArgumentParser()
    try:
        parser.add_class_arguments(member, fail_untyped=False)
    except Exception:  # a class of the user's that the parser does not understand
        return iter(name for name in inspect.signature(member).parameters if name not in ("args", "kwargs"))
    return (key for key in _keys(parser) if key.rpartition(".")[2] != "help")


def _keys(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield action.dest
        choices = action.choices
        if isinstance(choices, dict):  # subcommands
            for subparser in choices.values():
                yield from _keys(subparser)
