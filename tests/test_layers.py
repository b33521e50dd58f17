"""The architecture as rules: imports go down the layers, functions fit a screen, files a sitting."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tilegen"
FILES = sorted(PACKAGE.rglob("*.py"))

# An import goes to an earlier line, or stays in its own package.
LAYERS = [
    "errors", "config", "later", "dtypes", "vectors", "layout", "instructions", "wgmma", "nodes", "ir", "launches", "wishes", "arith",
    "strided", "printer", "plan", "rings", "language", "interpret", "frontend", "targets", "passes", "emit", "build", "emulator", "runtime", "hosting",
    "files", "pristine", "literals", "explain", "drawing", "display", "placement", "interpreted", "jit", "edited", "call",
    "kernel", "api", "interop",
    "check", "timing", "trial", "kernel_files", "candidate", "racing", "checking", "merging", "debugging", "doctor", "notebook", "cli",
    "__main__",
]
# (importing layer, what it must not know, though the order would allow it, why)
WALLS = [
    ("passes", "tilegen.targets.cuda", "a pass receives its target"),
    ("passes", "tilegen.targets.hip", "a pass receives its target"),
    ("passes", "tilegen.targets.maca", "a pass receives its target"),
    ("passes", "tilegen.targets.cpu", "a pass receives its target"),
    ("emit", "tilegen.frontend", "templates never see the front end"),
    ("emit", "tilegen.language", "templates never see the front end"),
    ("runtime", "tilegen.ir", "a hand-edited file loads with the same code"),
    ("runtime", "tilegen.frontend", "a hand-edited file loads with the same code"),
    ("runtime", "tilegen.passes", "a hand-edited file loads with the same code"),
    ("runtime", "tilegen.emit", "a hand-edited file loads with the same code"),
    ("build", "tilegen.ir", "a compiler sees text"),
]
# What a function may import: packages that need not be there, and NumPy, without which emitting works.
OPTIONAL = {"cupy", "torch", "IPython", "pyhip", "ml_dtypes", "pygments", "numpy"}

FUNCTION_LINES, FILE_LINES, COLUMNS = 40, 350, 120
# Where every public function and class says what it takes, gives and raises.
DOCUMENTED = {"language", "build", "runtime", "placement", "interpreted", "jit", "edited", "call", "kernel", "api", "check",
              "timing", "trial", "kernel_files", "candidate", "explain", "files", "config", "errors", "layout",
              "pristine", "merging", "notebook", "racing", "hosting"}
BANNED_NAMES = {"utils", "util", "helpers", "common", "misc", "manager"}


def module_of(path):
    """('passes', 'plan_gemm') for tilegen/passes/plan_gemm.py."""
    return path.relative_to(PACKAGE).with_suffix("").parts


def imports(path):
    """(line, module, whether inside of a function) for each import; `from a import b` counts as a and as a.b,
    where b is a module."""
    tree = ast.parse(path.read_text())
    inner = {id(node) for function in ast.walk(tree) if isinstance(function, (ast.FunctionDef, ast.Lambda))
             for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Later":
            names = [node.args[0].value] if isinstance(node.args[0], ast.Constant) else []
            yield from ((node.lineno, name, False) for name in names)
            continue
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno} has a relative import"
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [name for name in inside if is_module(name)]
            names = modules if len(modules) == len(inside) else [node.module, *modules]
        else:
            continue
        for name in names:
            yield node.lineno, name, id(node) in inner


def is_module(name):
    place = ROOT.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def layer(name):
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else None


def each_file(function):
    return pytest.mark.parametrize("path", FILES, ids=lambda p: "/".join(module_of(p)))(function)


@each_file
def test_imports_go_down(path):
    own = module_of(path)[0]
    if own == "__init__":
        return
    assert own in LAYERS, f"tilegen/{own} has no layer"
    up = [f"{path.name}:{line} imports {name}" for line, name, _ in imports(path)
          if name.startswith("tilegen.") and LAYERS.index(layer(name)) > LAYERS.index(own)]
    assert not up


@each_file
def test_walls_stand(path):
    own = module_of(path)[0]
    broken = [f"{path.name}:{line} imports {name}: {why}" for line, name, _ in imports(path)
              for importing, banned, why in WALLS if own == importing and f"{name}.".startswith(f"{banned}.")]
    assert not broken


@each_file
def test_imports_stand_at_the_top(path):
    inner = [f"{path.name}:{line} imports {name}" for line, name, inside in imports(path)
             if inside and name.split(".")[0] not in OPTIONAL]
    assert not inner


@each_file
def test_functions_fit_a_screen(path):
    long = [f"{path.name}:{node.lineno} {node.name} has {node.end_lineno - node.lineno + 1} lines"
            for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)
            and node.end_lineno - node.lineno + 1 > FUNCTION_LINES]
    assert not long


@each_file
def test_files_fit_a_sitting(path):
    lines = path.read_text().splitlines()
    assert len(lines) <= FILE_LINES
    wide = [f"{path.name}:{number} has {len(line)} columns" for number, line in enumerate(lines, 1)
            if len(line) > COLUMNS]
    assert not wide


@each_file
def test_names_say_something(path):
    assert not BANNED_NAMES & set(module_of(path))


@each_file
def test_modules_are_documented(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree) or path == PACKAGE / "__init__.py"       # which starts with its version
    if module_of(path)[0] in DOCUMENTED:
        bare = [f"{path.name}:{node.lineno} {node.name}" for node in tree.body
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
                and not ast.get_docstring(node)]
        assert not bare


def test_every_layer_exists():
    assert [name for name in LAYERS if not is_module(f"tilegen.{name}")] == []
