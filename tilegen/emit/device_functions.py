"""Which helper functions an emitted text needs, and their text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from tilegen.emit import templates
from tilegen.emit.matrix_functions import matrix_functions, wgmma_functions, wgmma_register_functions
from tilegen.targets.base import Target

# What threads combine their values with, by what it gives: each helper in helpers/operations exists for all.
_RESULTS = {"sum": "sum of x", "max": "largest x", "min": "least x", "bitand": "bitwise and of x",
            "bitor": "bitwise or of x", "bitxor": "bitwise xor of x"}


class Helper(NamedTuple):
    """Where the text of a helper comes from, and whether the emulator has its own."""

    template: str
    hardware: bool = False
    values: dict[str, Any] | Callable[[], dict[str, Any]] = {}

    def text(self, target: Target, **values: Any) -> str:
        """The helper as it stands in a file."""
        own = self.values() if callable(self.values) else self.values
        return templates.render(target.folders, self.template, target=target, **own, **values)


@lru_cache
def available(folders: tuple[str, ...]) -> dict[str, Helper]:
    """The helpers of a target by name."""
    families = templates.stems(folders, "helpers/operations")
    matrix = templates.stems(folders, "helpers/matrix")
    return {
        **{name: Helper(template, hardware=True, values=values)
           for template in matrix.values() for name, values in matrix_functions(folders[0]).items()},
        **{name: Helper(template, hardware=True, values=values)
           for template in templates.stems(folders, "helpers/wgmma").values()
           for name, values in wgmma_functions(folders[0]).items()},
        **{name: Helper(template, hardware=True, values=values)
           for template in templates.stems(folders, "helpers/wgmma_registers").values()
           for name, values in wgmma_register_functions(folders[0]).items()},
        **{_ranked(stem, rank): Helper(template, hardware=True, values=_places(rank))
           for stem, template in templates.stems(folders, "helpers/ranks").items() for rank in range(2, 6)},
        **{f"{operation}_{stem}": Helper(template, values={"operation": operation, "result": result})
           for stem, template in families.items() for operation, result in _RESULTS.items()},
        **{stem: Helper(template) for stem, template in templates.stems(folders, "helpers").items()},
        **{stem: Helper(template, hardware=True)
           for stem, template in templates.stems(folders, "helpers/hardware").items()},
    }


def _ranked(stem: str, rank: int) -> str:
    """tma_load_2d and tma_load_2d_multicast, for tma_load and tma_load_multicast"""
    verb, *tail = stem.removeprefix("tma_").split("_")
    return "_".join(("tma", verb, f"{rank}d", *tail))


def _places(rank: int) -> dict[str, Any]:
    """A place in a tensor of so many dimensions, as the assembly of the copy engine has it behind its operands."""
    names = "xyzuv"[:rank]
    return {"rank": rank, "names": ", ".join(names), "parameters": ", ".join(f"int {n}" for n in names),
            "operands": ", ".join(f'"r"({n})' for n in names),
            **{f"after_{word}": ", ".join(f"%{first + n}" for n in range(rank))
               for word, first in (("two", 2), ("three", 3), ("four", 4), ("five", 5))}}


def needed(target: Target, text: str, own: set[str] = frozenset(), **values) -> tuple[list[str], list[str]]:
    """(hardware, plain): texts of the helpers that `text` names, and of those that these name.
    Hardware helpers hold assembly, builtins or hardware types; the emulator has its own of these.
    Within each list a helper comes after what it needs. `own` are names that `text` gives to its own
    variables: of these it means the helper only where `qualified` has marked it."""
    helpers = available(target.folders)
    order: dict[str, str] = {}

    def visit(body: str, own: set[str] = frozenset()) -> None:
        marked = set(re.findall(r"(?<!\w)::(\w+)", body)) if own else set()
        found = dict.fromkeys(re.findall(r"(?<!std::)\b[A-Za-z_]\w*", _code(body)))
        words = [word for word in found if word not in own or word in marked]
        for word in words:
            helper = helpers.get(word)
            if helper and word not in order and word not in active:
                active.add(word)
                rendered = helper.text(target, **values)
                visit(rendered)
                order[word] = rendered
    active: set[str] = set()
    visit(text, own)
    return ([t for w, t in order.items() if helpers[w].hardware],
            [t for w, t in order.items() if not helpers[w].hardware])


def qualified(target: Target, text: str, own: set[str]) -> str:
    """`text` with `::` before calls of helpers whose names `own` variables hide, and where one is the argument of a
    template, which a variable cannot be."""
    hidden = "|".join(sorted(own & set(available(target.folders))))
    if not hidden:
        return text
    call = re.compile(rf"(?:(?<![\w.:])(?=\w+[(<])|(?<=<)(?=\w+[,>]))({hidden})\b")
    lines = (line.partition("//") for line in text.split("\n"))
    return "\n".join(call.sub(r"::\1", code) + mark + comment for code, mark, comment in lines)


def _code(text: str) -> str:
    """`text` without comments."""
    return re.sub(r"//[^\n]*", "", text)
