"""`did you mean ...?`"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str:
    """A hint that names the closest of `known`, or an empty string."""
    by_lower_case = {candidate.lower(): candidate for candidate in sorted(known, reverse=True)}
    close = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.6)
    return f"did you mean {prefix}{by_lower_case[close[0]]}?" if close else ""
