"""Template lookup: `templates/<target>/...` first, then the folders that the target falls back to."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import jinja2

from tilegen.emit.text import indent

SUFFIXES = (".cu", ".hip", ".maca", ".cpp", ".h", ".py")


@lru_cache
def root() -> Path:
    """The folder of templates: beside the package in a checkout, inside it in a wheel."""
    inside = Path(__file__).resolve().parent.parent / "_templates"
    return inside if inside.is_dir() else Path(__file__).resolve().parents[2] / "templates"


@lru_cache
def environment() -> jinja2.Environment:
    """Delimiters that leave C++ readable: `//% for x in xs` and `${value}`."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(root())), undefined=jinja2.StrictUndefined, keep_trailing_newline=False,
        trim_blocks=True, lstrip_blocks=True, line_statement_prefix="//%", variable_start_string="${",
        variable_end_string="}", block_start_string="<%", block_end_string="%>", comment_start_string="<#",
        comment_end_string="#>", autoescape=False)


@lru_cache
def find(folders: tuple[str, ...], name: str) -> Path | None:
    """The file of template `name` (no suffix) in the first folder that has it."""
    for folder in folders:
        for suffix in SUFFIXES:
            path = root() / folder / (name + suffix)
            if path.is_file():
                return path
    return None


@lru_cache
def stems(folders: tuple[str, ...], subfolder: str) -> dict[str, str]:
    """{stem: template name} of all templates in a subfolder, the first folder winning."""
    result: dict[str, str] = {}
    for folder in folders:
        path = root() / folder / subfolder
        for file in sorted(path.iterdir()) if path.is_dir() else ():
            if file.suffix in SUFFIXES:
                result.setdefault(file.stem, f"{subfolder}/{file.stem}")
    return result


def render(folders: tuple[str, ...], name: str, **values) -> str:
    """The text of template `name`."""
    path = find(folders, name)
    if path is None:
        raise AssertionError(f"no template {name} in {folders}")
    template = environment().get_template(str(path.relative_to(root())))
    return template.render(indent=indent, **values).strip("\n")
