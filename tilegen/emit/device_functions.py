"""Which helper functions an emitted text needs, and their text."""

from __future__ import annotations

import re

from tilegen.emit import templates
from tilegen.targets.base import Target


def needed(target: Target, text: str, own: set[str] = frozenset(), **values) -> tuple[list[str], list[str]]:
    """(hardware, plain): texts of the helpers that `text` names, and of those that these name.
    Hardware helpers hold assembly, builtins or hardware types; the emulator has its own of these.
    Within each list a helper comes after what it needs. `own` are names that `text` gives to its own
    variables: of these it means the helper only where `qualified` has marked it."""
    hardware = templates.stems(target.folders, "helpers/hardware")
    plain = templates.stems(target.folders, "helpers")
    order: dict[str, str] = {}

    def visit(body: str, own: set[str] = frozenset()) -> None:
        marked = set(re.findall(r"(?<!\w)::(\w+)", body)) if own else set()
        found = dict.fromkeys(re.findall(r"(?<!std::)\b[A-Za-z_]\w*", _code(body)))
        words = [word for word in found if word not in own or word in marked]
        for word in words:
            name = hardware.get(word) or plain.get(word)
            if name and word not in order and word not in active:
                active.add(word)
                rendered = templates.render(target.folders, name, target=target, **values)
                visit(rendered)
                order[word] = rendered
    active: set[str] = set()
    visit(text, own)
    return [t for w, t in order.items() if w in hardware], [t for w, t in order.items() if w not in hardware]


def qualified(target: Target, text: str, own: set[str]) -> str:
    """`text` with `::` before calls of helpers whose names `own` variables hide."""
    stems = templates.stems(target.folders, "helpers") | templates.stems(target.folders, "helpers/hardware")
    hidden = "|".join(sorted(own & set(stems)))
    if not hidden:
        return text
    call = re.compile(rf"(?<![\w.:])({hidden})(?=[(<])")
    lines = (line.partition("//") for line in text.split("\n"))
    return "\n".join(call.sub(r"::\1", code) + mark + comment for code, mark, comment in lines)


def _code(text: str) -> str:
    """`text` without comments."""
    return re.sub(r"//[^\n]*", "", text)
