"""Kernels in notebooks."""

from __future__ import annotations

import html


def source_as_html(text: str) -> str:
    """Emitted text for a notebook, with colours where Pygments is installed."""
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import CppLexer
    except ImportError:
        return f"<pre>{html.escape(text)}</pre>"
    return highlight(text, CppLexer(), HtmlFormatter(noclasses=True, nobackground=True))
