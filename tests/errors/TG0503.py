"""Unknown knobs and sizes."""
import tilegen.language as T


def misspelt(A: T.Tensor[("N",), "float32"], block_M=32):  # error: TG0503 did you mean block_M?
    with T.Kernel(T.ceildiv(N, block_M)) as bx:
        A[bx] = 0


VALUES = {"misspelt": {"blockM": 64}}
