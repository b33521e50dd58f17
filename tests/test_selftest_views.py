"""The self-test of kernels that see memory in another shape: plain loops over the same elements."""

import subprocess

import operations_combined
import operations_views
import pytest
import tilegen
import tilegen.language as T
from tilegen.build import cxx

M, N = T.dynamic("M"), T.dynamic("N")


def reversed_rows(A: T.Tensor[("M", "N", 4), "float32"], B: T.Tensor[("M", "N", 4), "float32"]):
    """Tensors under another shape, whose last block ends beyond them."""
    with T.Kernel(T.ceildiv(M * N, 16), threads=32) as b:
        rows = T.reshape(A, (M * N, 4))
        results = T.reshape(B, (M * N, 4))
        tile = T.alloc_shared((16, 4), "float32")
        T.copy(rows[b * 16, 0], tile)
        for i, j in T.Parallel(16, 4):
            results[b * 16 + i, j] = tile[i, 3 - j]


KERNELS = {
    "tiles": (operations_views.reshaped_tiles, ["37"]), "tensors": (reversed_rows, ["11", "9"]),
    "fragments": (operations_views.reshaped_fragments, ["37"]), "product": (operations_views.product_of_a_view, []),
    "heads": (operations_combined.heads_of_one_tile, ["37"]),
}


def printed(text, sizes, folder):
    """What the program of a C++ file prints."""
    (folder / "kernel.cpp").write_text(text)
    subprocess.run([*cxx.find().command, "-O1", "-std=c++17", "-mavx2", "-mfma", "-mf16c", "-Wall", "-Werror",
                    "-Wno-unknown-pragmas", "-DTILEGEN_MAIN", "kernel.cpp", "-o", "kernel"], check=True, cwd=folder)
    return subprocess.run(["./kernel", *sizes], cwd=folder, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("name", KERNELS)
def test_a_right_kernel_is_found_right(name, tmp_path):
    function, sizes = KERNELS[name]
    assert printed(tilegen.jit(function).emit("cpu"), sizes, tmp_path).endswith(" ok")


def test_a_wrong_kernel_is_found_wrong(tmp_path):
    """A row of the reshaped tensor that goes to another place."""
    function, sizes = KERNELS["tensors"]
    kernel, mark, rest = tilegen.jit(function).emit("cpu").partition("// tilegen-launch")
    assert kernel.count("3 - j") == 1
    assert printed(kernel.replace("3 - j", "j") + mark + rest, sizes, tmp_path).endswith(" WRONG")


@pytest.mark.parametrize("target", ["cuda", "hip", "maca", "cpu"])
def test_the_file_says_where_a_view_has_no_plain_loops(target):
    other = operations_views.other_elements
    kernel = tilegen.jit(other)(pair=("float32", "int32"))
    assert "// Not checked: operations_views.py:53: memory seen as another type has no" in kernel.emit(target)
