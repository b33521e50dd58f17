"""The store of compiled kernels: one build for each content, whole entries or none, a limit on its size."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import tilegen as package
from tilegen import kernel_files
from tilegen.build import cache
from tilegen.build.toolchain import Toolchain, compile_text
from tilegen.emit import templates
from tilegen.errors import TilegenError

ROOT = Path(__file__).parent.parent


def writer(text: str, calls: list | None = None):
    def produce(folder: Path) -> dict:
        if calls is not None:
            calls.append(text)
        (folder / "kernel.so").write_text(text)
        return {"name": "f"}
    return produce


def test_made_once_and_found_again(tmp_path: Path) -> None:
    calls: list = []
    entry, hit = cache.fetch("f-cpu-avx2", "0a1b", writer("x", calls), tmp_path)
    assert not hit and entry.path == tmp_path / "f-cpu-avx2-0a1b"
    again, hit = cache.fetch("f-cpu-avx2", "0a1b", writer("y", calls), tmp_path)
    assert hit and calls == ["x"] and again.facts == {"name": "f"}
    assert again.file("kernel.so").read_text() == "x"
    other, hit = cache.fetch("f-cpu-avx2", "0a1c", writer("z", calls), tmp_path)
    assert not hit and other.path != entry.path


def test_the_hash_tells_every_part_apart() -> None:
    hashes = {cache.content_hash("a", "b"), cache.content_hash("ab", ""), cache.content_hash("a", ["b"]),
              cache.content_hash("b", "a")}
    assert len(hashes) == 4


@pytest.mark.parametrize("damage", ["truncate", "change", "record", "missing", "record gone"])
def test_a_broken_entry_is_made_again(tmp_path: Path, damage: str) -> None:
    entry, _ = cache.fetch("f", "00", writer("the library"), tmp_path)
    file, record = entry.file("kernel.so"), entry.file("entry.json")
    if damage == "truncate":
        file.write_text("the lib")
    elif damage == "change":
        file.write_text("the librarx")
    elif damage == "record":
        record.write_text(record.read_text()[:20])
    elif damage == "missing":
        file.unlink()
    else:
        record.unlink()
    calls: list = []
    entry, hit = cache.fetch("f", "00", writer("the library", calls), tmp_path)
    assert not hit and len(calls) == 1 and entry.file("kernel.so").read_text() == "the library"
    assert cache.fetch("f", "00", writer("", calls), tmp_path)[1]


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    root = tmp_path / "new" / "tilegen"
    entry, _ = cache.fetch("f", "00", writer("x"), root)
    for folder in (root, entry.path, root / ".locks"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_others_can_write_is_not_trusted(tmp_path: Path) -> None:
    entry, _ = cache.fetch("f", "00", writer("x"), tmp_path)
    entry.path.chmod(0o777)
    entry, hit = cache.fetch("f", "00", writer("x"), tmp_path)
    assert not hit and stat.S_IMODE(entry.path.stat().st_mode) == 0o700


@pytest.mark.parametrize("fault", [KeyboardInterrupt, ValueError])
def test_an_interrupted_build_leaves_nothing(tmp_path: Path, fault: type) -> None:
    def produce(folder: Path) -> dict:
        (folder / "half").write_text("h")
        raise fault
    with pytest.raises(fault):
        cache.fetch("f", "00", produce, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [".locks"] and cache.entries(tmp_path) == []
    assert not cache.fetch("f", "00", writer("x"), tmp_path)[1]


def python(code: str, *arguments: object) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT,
                            env={**os.environ, "PYTHONPATH": str(ROOT)})


BUILD_SLOWLY = """
import sys, time
from pathlib import Path
from tilegen.build import cache
root, log = Path(sys.argv[1]), Path(sys.argv[2])
def produce(folder):
    (folder / "kernel.so").write_text("x")
    with open(log, "a") as file:
        file.write("built\\n")
    time.sleep(float(sys.argv[3]))
    return {}
cache.fetch("f", "00", produce, root)
"""


def test_two_processes_build_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    processes = [python(BUILD_SLOWLY, tmp_path / "cache", log, 0.3) for _ in range(3)]
    assert [p.wait(30) for p in processes] == [0, 0, 0]
    assert log.read_text() == "built\n"


def test_ctrl_c_leaves_nothing_half_written(tmp_path: Path) -> None:
    root, log = tmp_path / "cache", tmp_path / "log"
    process = python(BUILD_SLOWLY, root, log, 30)
    deadline = time.monotonic() + 20
    while not log.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(root.glob(".making-*"))
    process.send_signal(signal.SIGINT)
    assert process.wait(20) != 0
    assert [p.name for p in root.iterdir()] == [".locks"]
    assert not cache.fetch("f", "00", writer("x"), root)[1]


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    for number in range(4):
        entry, _ = cache.fetch("f", f"{number}0", writer("x" * 100), tmp_path)
        os.utime(entry.file("entry.json"), (1000 + number, 1000 + number))
    cache.fetch("f", "00", writer(""), tmp_path)                    # used again: now the newest
    cache.fetch("f", "90", writer("x" * 100), tmp_path, limit=300)
    assert {e.name for e in cache.entries(tmp_path)} == {"f-90", "f-00", "f-30"}
    assert cache.prune(0, tmp_path) == 300 and cache.entries(tmp_path) == []


def test_an_entry_larger_than_the_limit_is_kept_for_its_user(tmp_path: Path) -> None:
    entry, _ = cache.fetch("f", "00", writer("x" * 100), tmp_path, limit=10)
    assert entry.file("kernel.so").exists()


def test_list_find_and_remove(tmp_path: Path) -> None:
    cache.fetch("matmul-cuda-sm_90a", "aa", writer("xx"), tmp_path)
    cache.fetch("softmax-cpu-avx2", "bb", writer("yyy"), tmp_path)
    assert [e.name for e in cache.find("cuda", tmp_path)] == ["matmul-cuda-sm_90a-aa"]
    assert cache.remove(cache.find("softmax", tmp_path)) == 3
    assert [e.bytes for e in cache.entries(tmp_path)] == [2]
    assert cache.entries(tmp_path / "nothing") == []


def test_what_killed_processes_left_is_swept(tmp_path: Path) -> None:
    old, new = tmp_path / ".making-old", tmp_path / ".making-new"
    for folder in (old, new):
        folder.mkdir()
    os.utime(old, (1000, 1000))
    cache.fetch("f", "00", writer("x"), tmp_path)
    assert not old.exists() and new.exists()


def test_put_replaces(tmp_path: Path) -> None:
    cache.put("f", "00", writer("x"), tmp_path)
    assert cache.put("f", "00", writer("y"), tmp_path).file("kernel.so").read_text() == "y"


def test_the_folder_is_chosen_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEGEN_CACHE_DIR", str(tmp_path / "mine"))
    assert cache.folder() == tmp_path / "mine"
    monkeypatch.delenv("TILEGEN_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "tilegen"


# ---- What decides over an entry ------------------------------------------------------------------
@dataclass(frozen=True)
class Copying(Toolchain):
    """A compiler that copies its source, `options` are its flags."""

    options: tuple[str, ...] = ()

    def flags(self, arch: str) -> tuple[str, ...]:
        return self.options

    def compile(self, source: Path, artifact: Path, arch: str) -> str:
        artifact.write_text(f"{self.version} {self.options} {arch} {source.read_text()}")
        return "a log"


def test_nothing_that_changes_the_result_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another compiler, compiler version, flag, arch, text, or version of tilegen is another entry."""
    plain = Copying("cc", "1.0", ".cpp", ".so")

    def compiled(tool: Toolchain = plain, text: str = "int x;", arch: str = "avx2"):
        return compile_text(text, tool, name="f", target="cpu", arch=arch, root=tmp_path, knobs={"BM": 64, "BN": 32})
    first = compiled()
    assert not first.cached and first.path.parent.name.startswith("f-cpu-avx2-BM64_BN32-")
    assert compiled().cached and compiled().path == first.path
    others = [compiled(Copying("clang", "1.0", ".cpp", ".so")), compiled(Copying("cc", "1.1", ".cpp", ".so")),
              compiled(Copying("cc", "1.0", ".cpp", ".so", ("-O3",))), compiled(text="int y;"), compiled(arch="avx512")]
    monkeypatch.setattr(package, "__version__", "99")
    others.append(compiled())
    assert not any(other.cached for other in others) and len({other.path for other in [first, *others]}) == 7
    facts = cache.find(first.path.parent.name, tmp_path)[0].facts
    assert (facts["compiler"], facts["version"], facts["knobs"]) == ("cc", "1.0", ["BM=64", "BN=32"])


def test_a_change_of_a_template_is_another_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text that is compiled decides, so that nothing has to know which templates it came from."""
    folder = tmp_path / "templates"
    shutil.copytree(templates.root(), folder)
    names = []
    for changed in (False, True):
        if changed:
            helper = folder / "cpu" / "helpers" / "fill_tiles.cpp"
            helper.write_text("// changed\n" + helper.read_text())
        monkeypatch.setattr(templates, "root", lambda: folder)
        for cached in (templates.environment, templates.find, templates.stems):
            cached.cache_clear()
        text = kernel_files.find(str(ROOT / "examples" / "06_gemm.py")).emit("cpu")
        names.append(compile_text(text, Copying("cc", "1.0", ".cpp", ".so"), name="f", target="cpu", arch="avx2",
                                  root=tmp_path / "cache").path)
    for cached in (templates.environment, templates.find, templates.stems):
        cached.cache_clear()
    assert names[0] != names[1] and "// changed" in text


COMPILE = """
import sys, tilegen
loaded = tilegen.load(sys.argv[1])
print(loaded.artifact.cached, flush=True)
"""


def test_two_processes_compile_a_kernel_once(tmp_path: Path) -> None:
    file = kernel_files.find(str(ROOT / "examples" / "01_add.py")).save(tmp_path / "add.cpp")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TILEGEN_CACHE_DIR": str(tmp_path / "cache")}
    processes = [subprocess.Popen([sys.executable, "-c", COMPILE, file], env=environment, stdout=subprocess.PIPE,
                                  text=True) for _ in range(3)]
    answers = [process.communicate(timeout=120)[0].strip() for process in processes]
    assert sorted(answers) == ["False", "True", "True"]
    assert len(cache.entries(tmp_path / "cache")) == 1


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TilegenError) as caught:
        cache.fetch("f", "00", writer("x"), tmp_path / "file" / "cache")
    assert caught.value.code == "TG0303" and "TILEGEN_CACHE_DIR" in caught.value.hint
