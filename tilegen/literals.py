"""The values of -D NAME=VALUE."""

from __future__ import annotations


def literal(text: str) -> int | float | bool | str:
    """4096, 0x1000, 1e-5, true, or a text such as float16 or dynamic."""
    for read in (lambda: int(text, 0), lambda: float(text)):
        try:
            return read()
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)
