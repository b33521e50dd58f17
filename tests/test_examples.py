"""Each example runs as a program on the CPU, and by `tilegen run`, and says what it did."""

import os
import re
import subprocess
import sys

import pytest
from generated_files import EXAMPLES, ROOT

# Sizes for `tilegen run`, small enough for plain NumPy.
SIZES = {
    "01_add": "M=100 N=300",
    "02_saxpy": "n=5000",
    "03_transpose": "M=100 N=70",
    "04_softmax": "M=3 N=504",
    "05_layernorm": "M=3 N=504",
    "06_gemm": "M=130 N=70 K=50",
    "07_gemm_bias_gelu": "M=130 N=70 K=50",
    "08_batched_gemm": "batch=2 M=70 N=50 K=40",
    "09_gemm_tensor_core": "M=130 N=70 K=50",
    "10_flash_attention": "heads=2 queries=70 keys=90",
    "11_gemm_level3": "M=130 N=70 K=50",
    "12_cumsum": "M=5 N=1500",
    "13_philox_dropout": "M=9 N=300",
    "14_gemm_dtypes": "M=70 N=50 K=90",
    "16_rmsnorm": "M=3 N=504",
    "17_layernorm_backward": "M=5 N=504",
    "18_online_softmax": "M=3 N=504",
    "19_row_sum": "M=3 N=504",
    "20_flash_attention_causal_gqa": "heads=2 kv_heads=1 queries=70 keys=90",
    "21_flash_attention_varlen": "tokens=90 heads=2 bounds=2 longest=8",
    "22_flash_attention_backward": "heads=2 queries=70 keys=90",
    "23_split_k_gemm": "M=70 N=50 K=300",
    "24_int4_dequant_gemm": "M=5 N=70 K=512",
    "25_conv2d": "N=2 H=9 W=7 C=20 K=30",
    "26_topk": "M=5 N=300",
    "27_permute": "N=2 R=70 C=50",
    "28_histogram": "n=5000",
    "30_jacobi": "M=20 N=130",
    "31_gemm_small": "M=5 N=70 K=504",
}


def output_of(*command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TILEGEN_TARGET": "cpu"}
    finished = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, text=True, check=False, capture_output=True
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_program_that_checks_itself(example):
    lines = output_of(f"examples/{example}.py").splitlines()
    assert len(lines) == 1 and ": " in lines[0]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_by_the_command_line(example):
    values = [part for size in SIZES[example].split() for part in ("-D", size)]
    output = output_of("-m", "tilegen", "run", f"examples/{example}.py", "--on", "cpu", *values)
    assert re.search(r"worst error|equal", output), output


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_short_and_says_what_it_shows(example):
    text = (ROOT / "examples" / f"{example}.py").read_text()
    docstring = text.split('"""')[1]
    assert docstring.endswith(".") and "\n" not in docstring
    kernel, _, program = text.partition('if __name__ == "__main__":')
    assert len(kernel.splitlines()) <= 70 and 3 <= len(program.strip().splitlines()) <= 8
    assert max(map(len, text.splitlines())) <= 120
