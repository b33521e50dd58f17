"""The launch contract of a merge: field by field, with a line map of the merged text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilegen.emit import contract as written

# These describe the text that the contract stands in, and are never edits.
DERIVED = ("map", "source", "ir")


def merged(base: Mapping[str, Any], edited: Mapping[str, Any],
           new: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The contract of `new` with the fields that `edited` has otherwise than `base`, and the names of those fields
    that both have changed in different ways; these are as in `new`."""
    result, disputed = dict(new), []
    for name in [*new, *(name for name in edited if name not in new)]:
        if name in DERIVED or edited.get(name) == base.get(name) or edited.get(name) == new.get(name):
            continue
        if base.get(name) != new.get(name):
            disputed.append(name)
        elif name in edited:
            result[name] = edited[name]
        else:
            del result[name]
    return result, disputed


def rendered(fields: Mapping[str, Any], text: str) -> list[str]:
    """The comment lines of a contract; its map is that of `text`, which stands above it."""
    source = str(fields.get("source", "")).rpartition(":")[0]
    ordered = {name: value for name, value in fields.items() if name != "map"}
    return written.render({**ordered, "map": written.line_map(text, source)}).split("\n")
