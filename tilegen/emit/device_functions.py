"""Which helper functions an emitted text needs, and their text."""

from __future__ import annotations

import re

from tilegen.emit import templates
from tilegen.targets.base import Target


def needed(target: Target, text: str, **values) -> tuple[list[str], list[str]]:
    """(hardware, plain): texts of the helpers that `text` names, and of those that these name.
    Hardware helpers hold assembly, builtins or hardware types; the emulator has its own of these.
    Within each list a helper comes after what it needs."""
    hardware = templates.stems(target.folders, "helpers/hardware")
    plain = templates.stems(target.folders, "helpers")
    order: dict[str, str] = {}

    def visit(body: str) -> None:
        words = dict.fromkeys(re.findall(r"(?<!std::)\b[A-Za-z_]\w*", _code(body)))
        for word in words:
            name = hardware.get(word) or plain.get(word)
            if name and word not in order and word not in active:
                active.add(word)
                rendered = templates.render(target.folders, name, target=target, **values)
                visit(rendered)
                order[word] = rendered
    active: set[str] = set()
    visit(text)
    return [t for w, t in order.items() if w in hardware], [t for w, t in order.items() if w not in hardware]


def _code(text: str) -> str:
    """`text` without comments."""
    return re.sub(r"//[^\n]*", "", text)
