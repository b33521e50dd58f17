"""docs/reference.md says what the docstrings say."""

from pathlib import Path

import tilegen
import tilegen.language as T
from reference_page import text

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference.md"


def test_the_page_is_what_the_docstrings_say(request):
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text(), "write it anew: pytest tests/test_reference.py --update-golden"


def test_the_page_has_every_name():
    page = PAGE.read_text(encoding="utf-8")
    missing = [name for name in T.__all__ if f"`T.{name}" not in page]
    missing += [name for name in tilegen.__all__ if callable(getattr(tilegen, name)) and f"`tilegen.{name}" not in page]
    assert not missing
    assert "\n### `tilegen bench FILE[:NAME]...`\n" in page and "\n### `tilegen cache ls TEXT`\n" in page
