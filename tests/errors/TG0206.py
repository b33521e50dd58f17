"""Layouts that are none."""
import tilegen.language as T


def one_place_for_two(A: T.Tensor[(8, 16), "float32"]):
    with T.Kernel(1):
        tile = T.alloc_shared((8, 16), "float32")
        T.annotate_layout({tile: T.Layout((8, 16), lambda i, j: i * 8 + j)})  # error: TG0206 tile[0, 8] and tile[1, 0] both get place 8
        T.copy(A, tile)


def a_gap(A: T.Tensor[(8, 16), "float32"]):
    with T.Kernel(1):
        tile = T.alloc_shared((8, 16), "float32")
        T.annotate_layout({tile: lambda i, j: i * 20 + j})  # error: TG0206 gets place 140 of 128
        T.copy(A, tile)
