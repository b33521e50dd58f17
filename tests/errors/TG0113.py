"""Divisions by zero."""
import tilegen.language as T


def quotient(A: T.Tensor[(64,), "int32"]):
    with T.Kernel(1) as bx:
        A[bx] = A[0] // 0  # error: TG0113 '//' by zero


def remainder(A: T.Tensor[(64,), "int32"]):
    with T.Kernel(1) as bx:
        A[bx % 0] = 1  # error: TG0113 '%' by zero
