"""What `import tilegen` costs, how fast it emits, and what the wheel holds."""

import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import processor_time
import pytest

import tilegen

ROOT = Path(__file__).resolve().parent.parent
GEMM = ROOT / "examples" / "06_gemm.py"


def python(code, path=ROOT, folder=None):
    """What a fresh interpreter prints; it may keep the bytecode of what it imports, as a user's does."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder,
                          env={**environment, "PYTHONPATH": str(path)})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("statement, banned", [
    ("import tilegen", {"numpy", "jinja2", "click", "rich", "cupy", "torch", "ml_dtypes"}),
    ("import tilegen.language", {"numpy", "jinja2", "click", "rich", "cupy", "torch", "ml_dtypes"}),
    ("import tilegen; tilegen.jit", {"numpy", "click", "cupy", "torch", "filelock", "pygments", "ziglang"}),
    ("import tilegen.cli.emit", {"numpy", "cupy", "torch", "filelock", "platformdirs", "importlib.metadata", "pygments"}),
])
def test_imports_are_light(statement, banned):
    loaded = set(python(f"{statement}; import sys; print(*sys.modules)").split())
    assert not banned & loaded


def seconds(code):
    """The least processor time of `code` in three fresh interpreters, at the speed on record."""
    measured = f"import time; t = time.process_time(); {code}; print(time.process_time() - t)"
    return min(float(python(measured)) * processor_time.slowness() for _ in range(3))


def test_importing_is_fast():
    assert seconds("import tilegen") < 0.15


def test_emitting_is_fast():
    ready = f"from tilegen import kernel_files; m = kernel_files.find({str(GEMM)!r}); t = time.process_time()"
    assert seconds(f"{ready}; m.emit('cuda')") < 0.3      # 0.15 measured, with the imports of the passes


def test_the_whole_command_is_fast():
    """Measured: 0.45 s. A fifth of it is NumPy, which the kernel's own file imports; the interpreter's own start is counted."""
    ready = f"import sys; sys.argv = ['tilegen', 'emit', {str(GEMM)!r}, '-o', {os.devnull!r}]; t = 0"
    assert seconds(f"{ready}; from tilegen.cli import main; main()") < 0.9


def test_names_are_what_they_are_called():
    """Whichever was imported first, tilegen.jit and tilegen.interpret are functions, and all names exist."""
    code = "import tilegen.jit, tilegen.interpret, tilegen.kernel, tilegen; print(tilegen.jit, tilegen.interpret)"
    assert python(code).count("<function") == 2
    for name in tilegen.__all__:
        assert getattr(tilegen, name) is not None
    assert set(tilegen.__all__) <= set(dir(tilegen))
    with pytest.raises(AttributeError):
        tilegen.nosuch


def test_the_version_stands_in_the_first_line():
    first = (ROOT / "tilegen" / "__init__.py").read_text().splitlines()[0]
    assert first == f'__version__ = "{tilegen.__version__}"'


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from this tree without a network."""
    from hatchling.builders.wheel import WheelBuilder
    folder = tmp_path_factory.mktemp("wheel")
    return Path(next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])))


def test_the_wheel_holds_what_runs(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder, place in ((ROOT / "templates", "tilegen/_templates"), (ROOT / "tilegen", "tilegen")):
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert f"{place}/{path.relative_to(folder).as_posix()}" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "examples/", "generated/")) for name in names)


def needed(package, found):
    """The distributions that `package` needs without extras, NumPy left out."""
    for requirement in metadata.requires(package) or ():
        name = re.match(r"[\w.-]+", requirement)[0]
        if "extra ==" not in requirement and name.lower() != "numpy" and name not in found:
            try:
                metadata.distribution(name)
            except metadata.PackageNotFoundError:       # for another system or version
                continue
            found.add(name)
            needed(name, found)
    return found


def test_an_installation_is_small(wheel):
    """Beside NumPy the package and what it needs take less than 20 MB, compiled modules included."""
    text = (ROOT / "pyproject.toml").read_text()
    declared = re.findall(r'"([\w-]+)>=', re.search(r"^dependencies = \[(.*)\]$", text, re.MULTILINE)[1])
    names = {name for one in declared if one != "numpy" for name in {one, *needed(one, set())}}
    sizes = {name: sum(file.locate().stat().st_size for file in metadata.files(name) if file.locate().is_file())
             for name in names}
    own = sum(info.file_size for info in zipfile.ZipFile(wheel).infolist())
    assert {"click", "jinja2", "ml_dtypes"} <= names and own + sum(sizes.values()) < 20e6, sizes


def test_the_wheel_emits_the_same_text(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = f"from tilegen import kernel_files; print(kernel_files.find({str(GEMM)!r}).emit('hip'))"
    assert python(code, path=tmp_path, folder=tmp_path) == python(code)
