"""What no target has, or not all: keywords of TileLang that ask for it."""
import tilegen.language as T


def barrier_of_a_part(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1, threads=128):
        T.sync_threads(barrier_id=1, arrive_count=64)  # error: TG0204 a barrier of a part of the block


def product_in_tensor_memory(A: T.Tensor[(64, 64), "float16"], B: T.Tensor[(64, 64), "float32"]):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((64, 64), "float16")
        total = T.alloc_fragment((64, 64), "float32")
        T.copy(A, tile)
        T.gemm(tile, tile, total, clear_accum=True, mbar=tile)  # error: TG0204 mbar is for products in tensor memory
        T.copy(total, B)


def shuffle_of_some_lanes(A: T.Tensor[(64,), "float32"]):
    with T.Kernel(1, threads=32):
        A[0] = T.shfl_xor(A[1], 1, mask=0xFFFF)  # error: TG0204 mask cannot be 65535


def lanes_of_half_a_warp(A: T.Tensor[(64,), "int32"]):
    with T.Kernel(1, threads=32):
        A[0] = T.get_lane_idx(16)  # error: TG0204 warp_size cannot be 16
