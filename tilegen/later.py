"""Modules that are imported when they are first used: what launches kernels costs more to import than emitting does."""

from __future__ import annotations

import importlib
from typing import Any


class Later:
    """The module `name`, imported at the first access to one of its attributes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)
