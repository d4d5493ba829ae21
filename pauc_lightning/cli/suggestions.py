"""Turns the parser's errors into one sentence: the input, what is wrong, what was probably meant."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from jsonargparse import ArgumentParser

from pauc_lightning.arguments import percent_hint
from pauc_lightning.cli.command_help import class_actions
from pauc_lightning.cli.complaints import Context, innermost, last_match, one_line
from pauc_lightning.cli.given import Given, short
from pauc_lightning.cli.kinds import KINDS, Kind, find_class, kind_of
from pauc_lightning.cli.nearest import nearest
from pauc_lightning.cli.type_words import REGIONS, accepted, literals

_LONGEST_VALUE = 60
_MOST_NAMES = 14
_TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
_FORGOTTEN = {
    "data": "no data are named: add, for example, -c digits, or --data=<class>",
    "model": "no method is named: add, for example, -c upauci, or --model=<class>",
    "config": "no config file is named: add -c <file.yaml>",
}


def explain(parser: ArgumentParser, message: str, arguments: Sequence[str] = ()) -> str:
    """Rephrase the parser's message as one sentence.

    Args:
        parser: The parser that complains; its options are the valid keys.
        message: Its message.
        arguments: The user's arguments.
    """
    complaint = innermost(message)
    context = Context(parser, Given(arguments), complaint)
    for pattern, describe in _DESCRIPTIONS:
        match = re.search(pattern, complaint.text, flags=re.DOTALL)
        if match:
            return describe(match, context)
    return one_line(message)


# ---------------------------------------------------------------------- names of options


def _unrecognized(match: re.Match[str], context: Context) -> str:
    word, command = match[1].partition("=")[0], context.command
    if word.startswith("--"):
        close = nearest(word[2:], _options(context.parser), "--")
        return f"`{word}` is not an option of `{command}`.{close} `{command} --help` explains the options."
    if word.startswith("-"):
        return f"`{word}` is not an option of `{command}`: long options begin with two dashes, as in --model."
    if word.endswith(_TABLES):
        option = "--input" if command.endswith("predict") else "--data.path"
        return f"`{word}` cannot stand alone in `{command}`: write {option} {word}."
    return (
        f"`{word}` cannot be used here: `{command}` takes options only, such as `-c <file.yaml>` or `--model=CE`; "
        "lists are written as one word, such as [1,2]."
    )


def _without_value(match: re.Match[str], context: Context) -> str:
    arguments = context.given.arguments
    alone = [
        option
        for option, after in zip(arguments, [*arguments[1:], "--"], strict=False)
        if option.startswith(match[1]) and "=" not in option and after.startswith("-")
    ]
    name = (alone or [match[1]])[-1]
    return f"`{name}` needs a value: write `{name}=<value>`."


def _rejected(match: re.Match[str], context: Context) -> str:
    """An unknown option of a class, or an unknown key in a file."""
    name, owner = match[1], find_class(context.complaint.owner)
    key = short(".".join(part for part in (context.complaint.key, name) if part))
    setting = context.given.find(key) or context.given.find(name)
    quote = setting.quote if setting else f"`{key}`"
    if owner is None and key.partition(".")[0] == "compare":
        return (
            f"The config describes a comparison (`compare:`), not a single run: `{context.command}` cannot use it. "
            "Type `pauc compare` with it, or give another config."
        )
    if owner is None:
        close = nearest(key, _options(context.parser))
        return f"{quote}: there is no such option.{close} `{context.command} --help` explains the options."
    options = sorted(_parameters(owner))
    close = nearest(name, [*options, "class_path", "init_args"])
    has = (
        f"It has {', '.join(options)}."
        if options
        else f"It has none: first name a class with --{context.complaint.key}."
    )
    return f"{quote}: {owner.__name__} has no option `{name}`.{close} {has}"


def _missing(match: re.Match[str], context: Context) -> str:
    names = [name.strip().rpartition(".")[2] for name in match[1].split(",")]
    owner = find_class(context.complaint.owner)
    if owner is None:
        forgotten = [_FORGOTTEN.get(name, f"`{name}` is missing: add --{name}=<value>") for name in names]
        return f"`{context.command}`: {'; '.join(forgotten)}."
    if names == ["backbone"]:
        return _missing_backbone(context)
    options = " ".join(f"--{context.complaint.key}.{name}=<value>" for name in names)
    return f"{owner.__name__} needs {' and '.join(f'`{name}`' for name in names)}: add {options}."


def _missing_backbone(context: Context) -> str:
    kind = KINDS["backbone"]
    if context.complaint.key.endswith("backbone"):
        name = context.complaint.owner.rpartition(".")[2]
        return f"{context.quote()}: {name} is a method, not a backbone. {_choice(kind)}"
    return f"No backbone is named (the network that scores the inputs): add --model.backbone=<name>. {_choice(kind)}"


# ---------------------------------------------------------------------- classes


def _unknown_class(match: re.Match[str], context: Context) -> str:
    name, kind = match[1], context.kind
    quote = context.quote(name)
    if kind is None:
        return f"{quote}: `{name}` is not a known class. Give its import path, such as my_file.MyClass."
    other = kind_of(name)
    if other is not None and other is not kind:
        return f"{quote}: {name} is {other.title} (for {other.option}), not {kind.title}. {_choice(kind)}"
    return f"{quote}: `{name}` is not {kind.title}.{nearest(name, kind.names)} {_choice(kind)}"


def _ambiguous_class(match: re.Match[str], context: Context) -> str:
    """A bare name that several classes of other libraries have."""
    name, kind = match[1], context.kind
    close = nearest(name, kind.names) if kind is not None else ""
    return (
        f"{context.quote(name)}: several classes are called {name}.{close} To choose one of them, give its import "
        f"path: {match[2].rstrip('.')}."
    )


def _not_importable(match: re.Match[str], context: Context) -> str:
    path = match[1]
    reason = one_line(re.split(r"\n\s+- |\n\s*Given value", match[2])[0])
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


def _raised(match: re.Match[str], context: Context) -> str:
    """A user's module that raises an exception when it is imported."""
    nested = re.search(r"NestedArg\(key='([\w.]+)', val='(.*)'\)", context.complaint.text)
    key = f"{context.complaint.key}.{nested[1]}" if nested else context.complaint.key
    setting = context.given.find(key)
    quote = setting.quote if setting else f"`--{key}`"
    return f"{quote}: this cannot be imported ({match[1].rstrip('.')}). Correct its module, or give another class."


def _wrong_base(match: re.Match[str], context: Context) -> str:
    kind = context.kind
    if kind is None:
        return f"{context.quote()}: this is not a {match[1]}. Give a class that derives from {match[1]}."
    name = context.given.class_name(context.complaint.key) or ""
    package = kind.base.__module__.partition(".")[0]
    return (
        f"{context.quote(name)}: this is not {kind.title}, a class that derives from {package}'s {match[1]}. "
        f"{_choice(kind)}"
    )


def _not_a_class(match: re.Match[str], context: Context) -> str:
    """Neither the name of a class nor its settings."""
    if match[1] == "Region":
        return f"{context.quote()}: give {REGIONS}."
    title = context.kind.title if context.kind else f"a {match[1]}"
    return f"{context.quote()}: give the name of {title}, such as --{context.complaint.key}=<name>, or its import path."


def _choice(kind: Kind) -> str:
    names = kind.names
    known = ", ".join(names[:_MOST_NAMES]) + (" and others" if len(names) > _MOST_NAMES else "")
    return f"Known: {known}; one of your own is given by its import path, such as {kind.own}."


# ---------------------------------------------------------------------- values


def _wrong_type(match: re.Match[str], context: Context) -> str:
    text = context.complaint.text
    value = last_match(r"(?:Got value|Given value): (.*)", text).strip()
    types = last_match(r"Subtypes: \[(.*)\]\n", text) or last_match(r"Expected a (.+?)(?:\. Got|\n|$)", text)
    short = value if len(value) <= _LONGEST_VALUE else value[:_LONGEST_VALUE] + "..."
    but = f", not `{short}`" if short else ""
    hint = percent_hint(value) if "float" in types else ""
    end = f": {hint}." if hint else f".{nearest(value, literals(types))}"
    return f"{context.quote(value)}: give {accepted(types)}{but}{end}"


def _no_settings(match: re.Match[str], context: Context) -> str:
    key = context.complaint.key
    return (
        f"`--{key}={match[1]}`: give single settings, as `--{key}.<name>=<value>`, or a YAML file with them; "
        f"`{context.command} --help` lists their names."
    )


# ---------------------------------------------------------------------- helpers

_DESCRIPTIONS: Sequence[tuple[str, Callable[[re.Match[str], Context], str]]] = (
    (r"unrecognized arguments?: (\S+)", _unrecognized),
    (r"argument (\S+?)(?:/\S+)?: expected (?:at least )?one argument", _without_value),
    (r"(?:[Oo]ption|[Kk]ey) '([\w.]+)' is not (?:accepted|expected)", _rejected),
    (r"does not accept option '([\w.]+)'", _rejected),
    (r"the following arguments are required: ([\w., ]+)", _missing),
    (r"Multiple subclasses with name (\w+)\. .*?: ([^\n]*)", _ambiguous_class),
    (r"Problem with given class_path '([\w.]+)':\s+(.*)", _not_importable),
    (r"Expected a dot import path string: (\S+)", _unknown_class),
    (r"does not correspond to a subclass of (\w+)", _wrong_base),
    (r"Unable to load config ['\"](.*?)['\"]", _no_settings),
    (r"Not a valid subclass of (\w+)", _not_a_class),
    (r"Errors:\s+- (?!Expected|Import path)([^\n]+)", _raised),
    (r"Expected a (\S+)", _wrong_type),
)
"""Patterns of the parser's messages and the functions that rephrase them; the first match counts."""


def _parameters(member: type) -> Iterator[str]:
    """The arguments of a class, inherited ones included, as the parser resolves them."""
    parser = ArgumentParser()
    try:
        parser.add_class_arguments(member, fail_untyped=False)
    except Exception:  # a class of the user's that the parser does not understand
        return iter(name for name in inspect.signature(member).parameters if name not in ("args", "kwargs"))
    return (key for key in _keys(parser) if key.rpartition(".")[2] != "help")


def _options(parser: ArgumentParser) -> Iterator[str]:
    """Names of options to suggest: those of the parser, and those that all methods and all data sets share."""
    yield from (key for key in _keys(parser) if not key.endswith(".help"))
    yield from (action.dest for action in class_actions())


def _keys(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield action.dest
        choices = action.choices
        if isinstance(choices, dict):  # subcommands
            for subparser in choices.values():
                yield from _keys(subparser)
