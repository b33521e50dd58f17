"""generated/ is what the examples emit today: the same bytes, whatever the hash seed."""

import os
import subprocess
import sys
import time

import processor_time
import pytest
from generated_files import ARCHS, EXAMPLES, FILES, ROOT
from tilegen import files
from tilegen.cli import main

DIGESTS = """
import hashlib
from generated_files import FILES
for file in FILES:
    print(file, hashlib.sha256(file.specialised().source.encode()).hexdigest())
"""


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    """Files name the example as `examples/06_gemm.py`."""
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("file", FILES, ids=str)
def test_the_committed_file_is_what_the_example_emits(file, request):
    emitted = file.specialised().source
    if request.config.getoption("--update-golden"):
        file.path.parent.mkdir(parents=True, exist_ok=True)
        files.write(file.path, emitted, overwrite=True)
    assert file.path.is_file(), f"{file.path} is missing: run pytest --update-golden"
    assert emitted == file.text, f"{file.path} differs from what is emitted: run pytest --update-golden"


def test_there_is_an_example_for_every_committed_file():
    found = {path for target in ARCHS for path in (ROOT / "generated" / target).iterdir()}
    assert found == {file.path for file in FILES}
    numbers = [name.partition("_")[0] for name in EXAMPLES]
    assert len(set(numbers)) == len(numbers) and all(len(n) == 2 and n.isdigit() for n in numbers)


def test_two_hash_seeds_give_the_same_bytes():
    def digests(seed: int) -> str:
        places = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": places}
        return subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env=environment,
            cwd=ROOT,
            text=True,
            check=True,
            capture_output=True,
        ).stdout

    first = digests(1)
    assert first.count("\n") == len(FILES)
    assert first == digests(2)


def test_the_regenerate_command_gives_the_file(capsys):
    file = next(f for f in FILES if f.example == "06_gemm" and f.target == "cuda")
    line = next(line for line in file.text.splitlines() if "regenerate" in line)
    command = line.split("regenerate")[1].split()
    assert command == "tilegen emit examples/06_gemm.py -t cuda -a sm_80 -o matmul.cu".split()
    assert main(command[1:-2]) == 0 and capsys.readouterr().out == file.text


def test_emitting_the_text_takes_a_tenth_of_a_second():
    file = next(f for f in FILES if f.example == "06_gemm" and f.target == "cuda")
    times = []
    for _ in range(5):
        made = file.specialised()
        started = time.process_time()
        assert made.source
        times.append((time.process_time() - started) * processor_time.slowness())
    assert min(times) < 0.15
