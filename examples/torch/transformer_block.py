"""A transformer block whose norms, products, GELU and attention are tilegen's, forward and backward.

python examples/torch/transformer_block.py [--tokens 1024 --width 1024 --batch 4 --time]

Compares values and gradients with torch's own operations in float32; with --time (on a GPU) it times one forward and
one step with backward against torch eager and torch.compile. The block is pre-norm with causal attention, no biases.
"""

import argparse
import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

import tilegen
import tilegen.language as T
from tilegen.interop.torch import op
from tilegen.timing import gpu_clock

HEAD = 64


# ---- x / rms(x) * weight ---------------------------------------------------------------------------
@tilegen.jit
def rms_norm(X: T.Tensor[("M", "N"), "float16"], weight: T.Tensor[("N",), "float32"],
             Y: T.Tensor[("M", "N"), "float16"], rstd: T.Tensor[("M",), "float32"], BN=4096, eps=1e-5):
    T.assume(N <= BN)
    with T.Kernel(M, threads=256) as row:
        X_local = T.alloc_fragment((1, BN), "float32")
        square = T.alloc_fragment((1, BN), "float32")
        scale = T.alloc_fragment((1,), "float32")
        T.copy(X[row, 0], X_local)
        for i, j in T.Parallel(1, BN):
            square[i, j] = X_local[i, j] * X_local[i, j]
        T.reduce_sum(square, scale, dim=1)
        for i in T.Parallel(1):
            scale[i] = T.rsqrt(scale[i] / N + eps)
            rstd[row + i] = scale[i]
        for i, j in T.Parallel(1, BN):
            if j < N:
                Y[row + i, j] = X_local[i, j] * scale[i] * weight[j]


@tilegen.jit
def rms_norm_backward(dY: T.Tensor[("M", "N"), "float16"], X: T.Tensor[("M", "N"), "float16"],
                      weight: T.Tensor[("N",), "float32"], rstd: T.Tensor[("M",), "float32"],
                      dX: T.Tensor[("M", "N"), "float16"], dweight: T.Tensor[("N",), "float32"], BN=4096, rows=16):
    T.assume(N <= BN)
    with T.Kernel(T.ceildiv(M, rows), threads=256) as block:
        X_local = T.alloc_fragment((1, BN), "float32")
        dY_local = T.alloc_fragment((1, BN), "float32")
        product = T.alloc_fragment((1, BN), "float32")
        dweight_local = T.alloc_fragment((1, BN), "float32")      # of the rows of this block
        total = T.alloc_fragment((1,), "float32")
        T.clear(dweight_local)
        for r in T.serial(rows):
            row = block * rows + r
            if row < M:
                T.copy(X[row, 0], X_local)
                T.copy(dY[row, 0], dY_local)
                for i, j in T.Parallel(1, BN):
                    X_local[i, j] = X_local[i, j] * rstd[row]
                    dweight_local[i, j] = dweight_local[i, j] + dY_local[i, j] * X_local[i, j]
                for i, j in T.Parallel(1, BN):
                    dY_local[i, j] = T.if_then_else(j < N, dY_local[i, j] * weight[T.min(j, N - 1)], 0.0)
                    product[i, j] = dY_local[i, j] * X_local[i, j]
                T.reduce_sum(product, total, dim=1)
                for i, j in T.Parallel(1, BN):
                    if j < N:
                        dX[row + i, j] = rstd[row] * (dY_local[i, j] - X_local[i, j] * total[i] / N)
        for i, j in T.Parallel(1, BN):
            if j < N:
                T.atomic_add(dweight[j], dweight_local[i, j])


# ---- Products: A @ B, A @ B^T, A^T @ B, and gelu(A @ B) ---------------------------------------------
def product(turned_A, turned_B, BM=T.by_target(128, cpu=240), BN=T.by_target(128, cpu=512, sm_90a=256),
            BK=T.by_target(32, cpu=256, sm_90a=64)):
    @T.prim_func
    def multiply(A: T.Tensor(("K", "M") if turned_A else ("M", "K"), "float16"),
                 B: T.Tensor(("N", "K") if turned_B else ("K", "N"), "float16"), C: T.Tensor(("M", "N"), "float16")):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
            A_shared = T.alloc_shared((BK, BM) if turned_A else (BM, BK), "float16")
            B_shared = T.alloc_shared((BN, BK) if turned_B else (BK, BN), "float16")
            C_local = T.alloc_fragment((BM, BN), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=4):
                if turned_A:
                    T.copy(A[ko * BK, by * BM], A_shared)
                else:
                    T.copy(A[by * BM, ko * BK], A_shared)
                if turned_B:
                    T.copy(B[bx * BN, ko * BK], B_shared)
                else:
                    T.copy(B[ko * BK, bx * BN], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_A=turned_A, transpose_B=turned_B)
            T.copy(C_local, C[by * BM, bx * BN])
    return multiply


@tilegen.jit
def linear_gelu(A: T.Tensor[("M", "K"), "float16"], B: T.Tensor[("K", "N"), "float16"],
                C: T.Tensor[("M", "N"), "float16"], Z: T.Tensor[("M", "N"), "float16"],       # C = gelu(Z), Z = A @ B
                BM=T.by_target(128, cpu=240), BN=T.by_target(128, cpu=512, sm_90a=256),
                BK=T.by_target(32, cpu=256, sm_90a=64)):
    with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (bx, by):
        A_shared = T.alloc_shared((BM, BK), "float16")
        B_shared = T.alloc_shared((BK, BN), "float16")
        C_local = T.alloc_fragment((BM, BN), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(K, BK), num_stages=4):
            T.copy(A[by * BM, ko * BK], A_shared)
            T.copy(B[ko * BK, bx * BN], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, Z[by * BM, bx * BN])
        for i, j in T.Parallel(BM, BN):
            C_local[i, j] = T.gelu(C_local[i, j])
        T.copy(C_local, C[by * BM, bx * BN])


@tilegen.jit
def gelu_slope(dC: T.Tensor[("M", "N"), "float16"], Z: T.Tensor[("M", "N"), "float16"],
               dZ: T.Tensor[("M", "N"), "float16"], BN=2048):
    with T.Kernel(T.ceildiv(N, BN), M, threads=256) as (bx, row):
        for j in T.Parallel(BN):
            z = T.cast(Z[row, bx * BN + j], "float32")
            density = T.exp(-0.5 * z * z) * 0.3989422804
            dZ[row, bx * BN + j] = dC[row, bx * BN + j] * (0.5 * (1.0 + T.erf(z * 0.7071067812)) + z * density)


# ---- Causal attention -------------------------------------------------------------------------------
@tilegen.jit
def attention(Q: T.Tensor[("heads", "tokens", "D"), "float16"], K: T.Tensor[("heads", "tokens", "D"), "float16"],
              V: T.Tensor[("heads", "tokens", "D"), "float16"], O: T.Tensor[("heads", "tokens", "D"), "float16"],
              lse: T.Tensor[("heads", "tokens"), "float32"],            # log of the sum of a row's exponentials
              BM=128, BN=64, D=HEAD, stages=2):
    with T.Kernel(T.ceildiv(tokens, BM), heads, threads=128) as (bx, head):
        Q_shared = T.alloc_shared((BM, D), "float16")
        K_shared = T.alloc_shared((BN, D), "float16")
        V_shared = T.alloc_shared((BN, D), "float16")
        S_local = T.alloc_fragment((BM, BN), "float32")
        P_local = T.alloc_fragment((BM, BN), "float16")
        O_local = T.alloc_fragment((BM, D), "float32")
        row_max = T.alloc_fragment((BM,), "float32")
        old_max = T.alloc_fragment((BM,), "float32")
        rescale = T.alloc_fragment((BM,), "float32")
        row_sum = T.alloc_fragment((BM,), "float32")
        block_sum = T.alloc_fragment((BM,), "float32")
        scale = 1.44269504 / T.sqrt(T.cast(D, "float32"))               # log2(e) / sqrt(D), since exp2 is used
        first = (T.ceildiv(tokens, BM) - 1 - bx) * BM                   # the longest rows first
        T.copy(Q[head, first, 0], Q_shared)
        T.clear(O_local)
        T.clear(row_sum)
        T.fill(row_max, -1e30)
        for kb in T.Pipelined(T.ceildiv(T.min(tokens, first + BM), BN), num_stages=stages):
            T.copy(K[head, kb * BN, 0], K_shared)
            T.copy(V[head, kb * BN, 0], V_shared)
            T.gemm(Q_shared, K_shared, S_local, transpose_B=True, clear_accum=True)
            if (kb + 1) * BN > first + 1:
                for i, j in T.Parallel(BM, BN):
                    S_local[i, j] = T.if_then_else(kb * BN + j <= first + i, S_local[i, j], -T.infinity("float32"))
            T.copy(row_max, old_max)
            T.reduce_max(S_local, row_max, dim=1, clear=False)
            for i in T.Parallel(BM):
                rescale[i] = T.exp2((old_max[i] - row_max[i]) * scale)
            for i, j in T.Parallel(BM, D):
                O_local[i, j] = O_local[i, j] * rescale[i]
            for i, j in T.Parallel(BM, BN):
                S_local[i, j] = T.exp2(S_local[i, j] * scale - row_max[i] * scale)
            T.reduce_sum(S_local, block_sum, dim=1)
            for i in T.Parallel(BM):
                row_sum[i] = row_sum[i] * rescale[i] + block_sum[i]
            T.copy(S_local, P_local)
            T.gemm(P_local, V_shared, O_local)
        for i, j in T.Parallel(BM, D):
            O_local[i, j] = O_local[i, j] / row_sum[i]
        T.copy(O_local, O[head, first, 0])
        for i in T.Parallel(BM):
            row_max[i] = (row_max[i] * scale + T.log2(row_sum[i])) * 0.6931471806
        T.copy(row_max, lse[head, first])


@tilegen.jit
def attention_gradients(Q: T.Tensor[("heads", "tokens", "D"), "float16"],
                        K: T.Tensor[("heads", "tokens", "D"), "float16"],
                        V: T.Tensor[("heads", "tokens", "D"), "float16"],
                        dO: T.Tensor[("heads", "tokens", "D"), "float16"],
                        lse: T.Tensor[("heads", "tokens"), "float32"],
                        delta: T.Tensor[("heads", "tokens"), "float32"],     # sum of dO * O over a row
                        dQ: T.Tensor[("heads", "tokens", "D"), "float32"],   # starts as zeros
                        dK: T.Tensor[("heads", "tokens", "D"), "float16"],
                        dV: T.Tensor[("heads", "tokens", "D"), "float16"], BM=64, BN=64, D=HEAD, stages=2):
    with T.Kernel(T.ceildiv(tokens, BN), heads, threads=128) as (bx, head):
        K_shared = T.alloc_shared((BN, D), "float16")
        V_shared = T.alloc_shared((BN, D), "float16")
        Q_shared = T.alloc_shared((BM, D), "float16")
        dO_shared = T.alloc_shared((BM, D), "float16")
        dS_shared = T.alloc_shared((BN, BM), "float16")
        S_local = T.alloc_fragment((BN, BM), "float32")                 # scores, later probabilities: keys by queries
        dS_local = T.alloc_fragment((BN, BM), "float32")
        P_half = T.alloc_fragment((BN, BM), "float16")
        dS_half = T.alloc_fragment((BN, BM), "float16")
        dK_local = T.alloc_fragment((BN, D), "float32")
        dV_local = T.alloc_fragment((BN, D), "float32")
        dQ_local = T.alloc_fragment((BM, D), "float32")
        lse_local = T.alloc_fragment((BM,), "float32")
        delta_local = T.alloc_fragment((BM,), "float32")
        scale = 1 / T.sqrt(T.cast(D, "float32"))
        log2_e = 1.44269504                                             # since exp2 is used
        T.copy(K[head, bx * BN, 0], K_shared)
        T.copy(V[head, bx * BN, 0], V_shared)
        T.clear(dK_local)
        T.clear(dV_local)
        for qb in T.Pipelined(bx * BN // BM, T.ceildiv(tokens, BM), num_stages=stages):
            T.copy(Q[head, qb * BM, 0], Q_shared)
            T.copy(dO[head, qb * BM, 0], dO_shared)
            T.copy(lse[head, qb * BM], lse_local)
            T.copy(delta[head, qb * BM], delta_local)
            T.gemm(K_shared, Q_shared, S_local, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(BN, BM):                             # missing queries are rows of zeros in dO and Q
                S_local[i, j] = T.if_then_else(bx * BN + i <= qb * BM + j,
                                               T.exp2(S_local[i, j] * (scale * log2_e) - lse_local[j] * log2_e), 0.0)
            T.copy(S_local, P_half)
            T.gemm(P_half, dO_shared, dV_local)
            T.gemm(V_shared, dO_shared, dS_local, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(BN, BM):
                dS_local[i, j] = S_local[i, j] * (dS_local[i, j] - delta_local[j])
            T.copy(dS_local, dS_half)
            T.gemm(dS_half, Q_shared, dK_local)
            T.copy(dS_half, dS_shared)
            T.gemm(dS_shared, K_shared, dQ_local, transpose_A=True, clear_accum=True)
            for i, j in T.Parallel(BM, D):
                T.atomic_add(dQ[head, qb * BM + i, j], dQ_local[i, j] * scale)
        for i, j in T.Parallel(BN, D):
            dK_local[i, j] = dK_local[i, j] * scale
        T.copy(dK_local, dK[head, bx * BN, 0])
        T.copy(dV_local, dV[head, bx * BN, 0])


# ---- Operators --------------------------------------------------------------------------------------
norm = op(rms_norm, rms_norm_backward, returns="Y")
times_turned = op(tilegen.jit(product)(False, True), name="times_turned")
turned_times = op(tilegen.jit(product)(True, False), name="turned_times")
slope = op(gelu_slope)
gradients = op(attention_gradients)


def times_backward(dC, A, B):
    return times_turned(dC, B), turned_times(A, dC)


def linear_gelu_backward(dC, A, B, Z):
    return times_backward(slope(dC, Z), A, B)


def attention_backward(dO, Q, K, V, O, lse):
    delta = (dO.float() * O.float()).sum(-1)
    dQ = torch.zeros(Q.shape, dtype=torch.float32, device=Q.device)
    dK, dV = gradients(Q, K, V, dO, lse, delta, dQ)
    return dQ, dK, dV


times = op(tilegen.jit(product)(False, False), times_backward, name="times")
times_gelu = op(linear_gelu, linear_gelu_backward, returns="C", name="times_gelu")
attend = op(attention, attention_backward, returns="O", name="attend")


# ---- The block --------------------------------------------------------------------------------------
class Weights(torch.nn.Module):
    """The parameters of a block of `width` columns: norms in float32, products in float16."""

    def __init__(self, width: int, device: str) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)

        def matrix(rows: int, columns: int) -> torch.nn.Parameter:
            values = torch.randn(rows, columns, generator=generator) / math.sqrt(rows)
            return torch.nn.Parameter(values.half().to(device))
        self.first, self.second = (torch.nn.Parameter(torch.ones(width, device=device)) for _ in range(2))
        self.qkv, self.out = matrix(width, 3 * width), matrix(width, width)
        self.up, self.down = matrix(width, 4 * width), matrix(4 * width, width)


def heads_of(qkv, batch):
    """[batch * tokens, 3 * width] as Q, K, V of [batch * heads, tokens, HEAD]."""
    parts = qkv.view(batch, -1, 3, qkv.shape[1] // (3 * HEAD), HEAD).permute(2, 0, 3, 1, 4)
    return [part.reshape(-1, part.shape[2], HEAD) for part in parts]


def rows_of(O, batch):
    """[batch * heads, tokens, HEAD] as [batch * tokens, width]."""
    return O.view(batch, -1, *O.shape[1:]).transpose(1, 2).reshape(batch * O.shape[1], -1)


def ours(X, w, batch):
    """The block on X of [batch * tokens, width], float16."""
    X = X + times(rows_of(attend(*heads_of(times(norm(X, w.first), w.qkv), batch)), batch), w.out)
    return X + times(times_gelu(norm(X, w.second), w.up), w.down)


def torchs(X, w, batch):
    """The same by torch's operations, in the dtype of X."""
    def norm_by_torch(X, weight):
        return (X.float() * torch.rsqrt(X.float().square().mean(-1, keepdim=True) + 1e-5) * weight).to(X.dtype)

    def product_by_torch(X, W):
        return X @ W.to(X.dtype)
    Q, K, V = heads_of(product_by_torch(norm_by_torch(X, w.first), w.qkv), batch)
    O = F.scaled_dot_product_attention(Q[None], K[None], V[None], is_causal=True)[0]
    X = X + product_by_torch(rows_of(O, batch), w.out)
    return X + product_by_torch(F.gelu(product_by_torch(norm_by_torch(X, w.second), w.up)), w.down)


def compare(tokens: int, width: int, batch: int, device: str, block=ours) -> float:
    """The largest error of the output and of all gradients, relative to the norm, against torch in float32."""
    w = Weights(width, device)
    generator = torch.Generator().manual_seed(1)
    X, dY = (torch.randn(batch * tokens, width, generator=generator).half().to(device) for _ in range(2))

    def results(function, X):
        X = X.requires_grad_()
        Y = function(X, w, batch)
        return [Y, *torch.autograd.grad(Y, (X, *w.parameters()), dY.to(Y.dtype))]
    got, want = results(block, X.clone()), results(torchs, X.float())
    return max(((a.double() - b.double()).norm() / b.double().norm()).item() for a, b in zip(got, want))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("tokens", 100), ("width", 128), ("batch", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--time", action="store_true")
    chosen = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = chosen.tokens, chosen.width, chosen.batch, device
    error = compare(*size)
    print(f"transformer block on {device}: largest relative error {error:.1e} against float32")
    assert error < 1e-2
    if chosen.time:
        time(*size)


def time(tokens: int, width: int, batch: int, device: str) -> None:
    """One forward, and one forward with backward, in turn with torch's."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "bench"))
    from race import race, report
    w = Weights(width, device)
    X, dY = (torch.randn(batch * tokens, width, device=device).half() for _ in range(2))
    X.requires_grad_()
    blocks = {"torch eager": torchs, "torch.compile": torch.compile(torchs, fullgraph=True), "tilegen": ours,
              "tilegen, torch.compile": torch.compile(ours, fullgraph=True)}
    flops = 2 * batch * tokens * width * width * 12 + 2 * batch * tokens * tokens * width

    def step(block):
        return lambda: torch.autograd.grad(block(X, w, batch), (X, *w.parameters()), dY)

    def forward(block):
        def run():
            with torch.no_grad():
                return block(X, w, batch)
        return run
    title = f"block {batch} x {tokens} x {width}"
    report(f"{title} forward", race({n: forward(b) for n, b in blocks.items()}, gpu_clock()), flops=flops)
    report(f"{title} with backward", race({n: step(b) for n, b in blocks.items()}, gpu_clock()), flops=3 * flops)


if __name__ == "__main__":
    main()
