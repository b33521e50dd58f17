"""That the language has what TileLang's users use, and that every name is used by a kernel that runs."""

from pathlib import Path

import pytest
from name_table import END, START, rows, uses

import tilegen.language as T

PAGE = Path(__file__).resolve().parent.parent / "docs" / "language.md"

# The names of TileLang 0.1.13 that people use, by what they are about.
PROGRAM = "prim_func macro Tensor Kernel const empty dynamic get_thread_binding get_block_binding get_thread_extent " \
    "get_block_extent get_thread_bindings get_block_bindings get_thread_extents get_block_extents"
BUFFERS = "alloc_shared alloc_fragment alloc_local alloc_var alloc_global reshape view"
TILES = "copy ptx_wait_group async_copy fill clear gemm GemmWarpPolicy"
LOOPS = "Parallel Pipelined serial unroll vectorized Serial Unroll Vectorized grid Persistent " \
    "PersistentTileScheduler loop_break"
REDUCTIONS = "reduce_sum reduce_max reduce_min reduce_absmax reduce_abssum reduce_bitand reduce_bitor reduce_bitxor " \
    "reduce cumsum cummax any_of all_of alloc_reducer reducer_init reducer_update finalize_reducer"
ATOMICS = "atomic_add atomic_addx2 atomic_addx4 atomic_max atomic_min atomic_or"
MATH = "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh asinh acosh atanh tanh " \
    "sigmoid erf pow fmod hypot floor ceil round trunc nearbyint abs min max clamp if_then_else Select isnan isinf " \
    "isfinite infinity max_value min_value ceildiv floordiv floormod truncdiv truncmod popcount clz bitwise_and " \
    "bitwise_or bitwise_xor bitwise_not shift_left shift_right"
OTHERS = "sync_threads use_swizzle annotate_layout annotate_safe_value print device_assert assume cast " \
    "import_source call_extern transpose rng_init rng_rand rng_rand_float"
STARRED = " ".join((PROGRAM, BUFFERS, TILES, LOOPS, REDUCTIONS, ATOMICS, MATH, OTHERS)).split()

@pytest.mark.parametrize("name", STARRED)
def test_a_name_that_people_use_is_there(name):
    assert name in T.__all__


@pytest.mark.parametrize("name", T.__all__)
def test_a_kernel_that_runs_uses_the_name(name):
    assert name in uses(), f"add a kernel with T.{name} to tests/operations_*.py"


def test_the_table_of_the_page(request):
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    wanted = f"{before}{START}\n" + "\n".join(rows()) + f"\n{END}{after}"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(wanted, encoding="utf-8")
        text = wanted
    assert START in text, "the page has no table of names"
    assert text == wanted, "pytest tests/test_names.py --update-golden writes the table"
