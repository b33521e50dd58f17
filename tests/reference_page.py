"""docs/reference.md: every function that users call, from its signature and its docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType

import click

import tilegen
import tilegen.language as T
from tilegen import cli
from tilegen.language.scalar import ScalarType

HEAD = """# Reference

Every name of `tilegen.language` and of `tilegen`, and every verb of the command line, from their docstrings. This page
is written by `pytest tests/test_reference.py --update-golden`. [language.md](language.md) explains the language with
examples.
"""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def signature(value: object) -> str:
    """`(A, B, C=None)` without types."""
    try:
        parameters = [p.replace(annotation=p.empty) for p in inspect.signature(value).parameters.values()]
    except (TypeError, ValueError):
        return ""
    text = str(inspect.Signature([p for p in parameters if p.name != "self"])).replace("'", '"')
    return _ADDRESS.sub("", re.sub(r'<GemmWarpPolicy\.(\w+): "\w+">', r"T.GemmWarpPolicy.\1", text))


def _entry(name: str, value: object) -> list[str]:
    return [f"### `{name}{signature(value)}`", "", inspect.getdoc(value) or "", ""]


def _module_of(name: str) -> ModuleType | None:
    value = getattr(T, name)
    return inspect.getmodule(value if inspect.isfunction(value) or inspect.isclass(value) else type(value))


def language() -> Iterator[str]:
    """The operations by the module that defines them, then the types of elements."""
    types = [name for name in T.__all__ if isinstance(getattr(T, name), ScalarType)]
    groups: dict[ModuleType, list[str]] = {}
    for name in T.__all__:
        if name not in types:
            groups.setdefault(_module_of(name), []).append(name)
    for module, names in sorted(groups.items(), key=lambda pair: pair[0].__name__):
        yield f"## {(module.__doc__ or module.__name__).strip().splitlines()[0].rstrip('.')}\n"
        for name in names:
            value = getattr(T, name)
            shown = value if inspect.isfunction(value) or inspect.isclass(value) else type(value)
            yield "\n".join(_entry(f"T.{name}", shown))
    yield "## Types of elements\n\n" + ", ".join(f"`T.{name}`" for name in types) + "\n"


def package() -> Iterator[str]:
    """The names of `tilegen`, with the methods of its classes."""
    yield "## The Python API\n"
    for name in tilegen.__all__:
        value = getattr(tilegen, name)
        if inspect.ismodule(value) or not callable(value):
            continue
        yield "\n".join(_entry(f"tilegen.{name}", value))
        if inspect.isclass(value) and not issubclass(value, Exception):
            for member, function in vars(value).items():
                plain = getattr(function, "fget", None) or getattr(function, "func", function)
                if not member.startswith("_") and inspect.isfunction(plain):
                    call = "" if plain is not function else signature(plain)
                    yield f"* `{value.__name__}.{member}{call}`: " + " ".join((inspect.getdoc(plain) or "").split())
            yield ""


def command_line() -> Iterator[str]:
    """The verbs with their options."""
    yield "## The command line\n"
    with click.Context(cli.cli, info_name="tilegen") as context:
        for verb in cli.cli.list_commands(context):
            yield from _verb(f"tilegen {verb}", cli.cli.get_command(context, verb))


def _verb(name: str, command: click.Command) -> Iterator[str]:
    """A verb: its arguments, what it does, a line for each option. Written here, since versions of click differ."""
    arguments = [p.metavar or p.name.upper() for p in command.params if isinstance(p, click.Argument)]
    yield f"### `{' '.join([name, *arguments])}`\n\n{inspect.cleandoc(command.help or '').replace(chr(8), '')}\n"
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            value = "" if option.is_flag else f" {option.metavar or _choices(option)}"
            names = ", ".join([*option.opts, *option.secondary_opts])
            yield f"* `{names}{value}`: {option.help or ''}"
    yield ""
    for inner in command.commands if isinstance(command, click.Group) else ():
        yield from _verb(f"{name} {inner}", command.commands[inner])


def _choices(option: click.Option) -> str:
    kind = option.type
    return "|".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else kind.name.upper()


def text() -> str:
    """The whole page."""
    importlib.import_module("tilegen.api")
    lines = [line.rstrip() for part in (HEAD, *language(), *package(), *command_line()) for line in part.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip("\n") + "\n"
