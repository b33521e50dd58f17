"""docs/reference.md says what the docstrings say."""

from pathlib import Path

import tilegen
import tilegen.language as T
from reference_page import text
from tilegen import kernel_files

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference.md"
PICTURE = ROOT / "docs" / "images" / "swizzled_tile.svg"


def test_the_page_is_what_the_docstrings_say(request):
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text(), "write it anew: pytest tests/test_reference.py --update-golden"


def test_the_picture_is_what_is_drawn(request):
    kernel = kernel_files.find(str(ROOT / "examples" / "09_gemm_tensor_core.py")).specialize(BM=64, BN=64, BK=32)
    drawn = kernel.layouts("cuda")["A_shared"] + "\n"
    if request.config.getoption("--update-golden"):
        PICTURE.write_text(drawn, encoding="utf-8")
    assert PICTURE.read_text(encoding="utf-8") == drawn, "draw it anew: pytest tests/test_reference.py --update-golden"


def test_the_page_has_every_name():
    page = PAGE.read_text(encoding="utf-8")
    missing = [name for name in T.__all__ if f"`T.{name}" not in page]
    missing += [name for name in tilegen.__all__ if callable(getattr(tilegen, name)) and f"`tilegen.{name}" not in page]
    assert not missing
    assert "\n### `tilegen bench FILE[:NAME]...`\n" in page and "\n### `tilegen cache ls TEXT`\n" in page
