"""Python names: bound once, changed, joined after branches. The meaning is that of Python itself."""

import linecache
import random

import numpy as np
import pytest
import tilegen.language as T
from tilegen import ir
from tilegen.errors import TilegenError
from tilegen.frontend import parse
from tilegen.interpret import run
from tilegen.printer import show


def body(function, **values):
    return "\n".join(show(statement) for statement in parse(function, values=values).body)


def test_a_name_bound_once_keeps_its_name():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(N) as bx:
            x = A[bx]
            A[bx] = x * x

    assert body(kernel) == "x: float32 = A[bx]\nA[bx] = x * x"


def test_a_name_that_changes_is_a_variable():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(N) as bx:
            x = A[bx]
            x = x + 1
            x += 2
            A[bx] = x

    assert body(kernel) == ('x = T.alloc_var("float32", init=A[bx])\nx = x + 1.0\nx = x + 2.0\nA[bx] = x')


def test_a_literal_takes_the_type_of_what_is_added_to_it():
    def kernel(A: T.Tensor[("N",), "float16"], B: T.Tensor[("N",), "int64"]):
        with T.Kernel(N) as bx:
            total = 0
            count = 0
            plain = 0
            for i in range(4):
                total += A[i]
                count += B[i]
                plain += i
            A[bx] = total
            B[bx] = count + plain

    declared = [s.buffer for s in parse(kernel).body if isinstance(s, ir.Alloc)]
    assert {b.name: b.dtype.name for b in declared} == {
        "total": "float32", "count": "int64", "plain": "int32"}


def test_both_branches_bind_a_name():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(N) as bx:
            if bx > 2:
                x = 1
            elif bx > 1:
                x = 2.5
            else:
                x = A[0]
            A[bx] = x

    assert body(kernel).splitlines()[0] == 'x = T.alloc_var("float32")'


def test_blocks_that_use_a_name_for_themselves_do_not_share_it():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(N):
            for i in T.Parallel(8):
                x = 0.0
                for j in range(4):
                    x += A[i + j]
                A[i] = x
            for i in T.Parallel(8):
                x = i * 2
                A[i] = x

    text = body(kernel)
    assert text.count('    x = T.alloc_var("float32", init=0.0)') == 1
    assert text.count("    x: int32 = i * 2") == 1


def test_a_branch_on_a_python_value_is_decided():
    def kernel(A: T.Tensor[("N",), "float32"], causal=True, mode="max"):
        with T.Kernel(N) as bx:
            if causal and mode == "max":
                x = 1.0
            else:
                x = 2.0
            A[bx] = x

    assert body(kernel) == "x: float32 = 1.0\nA[bx] = x"
    assert body(kernel, causal=False) == "x: float32 = 2.0\nA[bx] = x"


def test_names_are_swapped_at_once():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(1):
            a, b = A[0], A[1]
            a, b = b, a
            A[0], A[1] = A[1], A[0]
            A[2], A[3] = a, b

    array = np.arange(4, dtype="float32") + 10
    run(parse(kernel), {"A": array})
    assert array.tolist() == [11, 10, 11, 10]


def test_a_name_from_before_the_kernel_changes_inside():
    def kernel(A: T.Tensor[("N",), "float32"], BM=4):
        start = BM * 2
        with T.Kernel(N) as bx:
            for i in range(3):
                start += i
            A[bx] = start

    text = body(kernel)
    assert text.startswith('start_2 = T.alloc_var("int32", init=start)\n')
    array = np.zeros(2, "float32")
    run(parse(kernel), {"A": array})
    assert array.tolist() == [11, 11]


def test_the_value_of_a_variable_is_taken_when_a_name_is_bound_to_it():
    def kernel(A: T.Tensor[("N",), "int32"]):
        with T.Kernel(1):
            x = 1
            y = x
            x = 5
            A[0] = y
            A[1] = x

    array = np.zeros(2, "int32")
    run(parse(kernel), {"A": array})
    assert array.tolist() == [1, 5]


def test_declared_variables_are_passed_by_name():
    def kernel(A: T.Tensor[("N",), "float32"]):
        with T.Kernel(1):
            x = T.alloc_var("int32", init=3)
            x += 1
            x[0] = x * 2
            typed: T.float16 = 1
            A[0] = x + typed

    assert body(kernel).splitlines() == ['x = T.alloc_var("int32", init=3)', "x = x + 1", "x = x * 2",
                                         "typed: float16 = 1.0", "A[0] = x + typed"]


# ---- Random programs: the kernel does what Python does --------------------------------------------
NAMES = "abcd"


def indent(lines):
    return ["    " + line for line in lines]


class Program:
    """A random function body over integer names, that ends by storing them to A."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loops = 0

    def value(self, depth=0):
        pick = self.random.random() * (0.75 if depth > 1 else 1)
        if pick < 0.3:
            return str(self.random.randint(-3, 9))
        if pick < 0.75:
            return self.random.choice(NAMES)
        if pick < 0.9:
            return f"({self.value(depth + 1)} {self.random.choice('+-*')} {self.value(depth + 1)}) % 97"
        return f"({self.value(depth + 1)} if {self.condition(depth + 1)} else {self.value(depth + 1)})"

    def condition(self, depth=0):
        pick = self.random.random() * (0.6 if depth > 1 else 1)
        if pick < 0.6:
            return f"{self.value()} {self.random.choice(['<', '<=', '==', '!=', '>'])} {self.value()}"
        if pick < 0.8:
            return f"{self.random.randint(0, 3)} < {self.value()} <= {self.random.randint(2, 9)}"
        return f"not ({self.condition(2)}) {self.random.choice(['and', 'or'])} {self.condition(2)}"

    def block(self, depth, in_loop=False):
        lines = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(depth, in_loop)
        return lines

    def statement(self, depth, in_loop):
        pick = self.random.random()
        if depth == 0 or pick < 0.4:
            return [f"{self.random.choice(NAMES)} = {self.value()}"]
        if pick < 0.5:
            return [f"{self.random.choice(NAMES)} {self.random.choice(['+=', '-='])} {self.value()}"]
        if pick < 0.55:
            first, second = self.random.sample(NAMES, 2)
            return [f"{first}, {second} = {self.value()}, {first}"]
        if pick < 0.6 and in_loop:
            return [f"if {self.condition()}:", "    " + self.random.choice(["break", "continue"])]
        if pick < 0.8:
            lines = [f"if {self.condition()}:", *indent(self.block(depth - 1, in_loop))]
            if self.random.random() < 0.4:
                lines += [f"elif {self.condition()}:", *indent(self.block(depth - 1, in_loop))]
            if self.random.random() < 0.7:
                lines += ["else:", *indent(self.block(depth - 1, in_loop))]
            return lines
        self.loops += 1
        if pick < 0.95:
            turns = self.random.randint(1, 4)
            return [f"for i{self.loops} in range({turns}):", *indent(self.block(depth - 1, True))]
        return [f"n{self.loops} = 0", f"while n{self.loops} < 3:", f"    n{self.loops} += 1",
                *indent(self.block(depth - 1, True))]

    def text(self):
        known = self.random.sample(NAMES, self.random.choice([1, 2, 3, 4, 4, 4, 4]))
        lines = [f"{name} = {self.random.randint(-5, 5)}" for name in known]
        lines += self.block(3) + self.block(3)
        lines += [f"A[{n}] = {name}" for n, name in enumerate(NAMES) if name in known]
        kernel = ["    with T.Kernel(1):", *("        " + line for line in lines)]
        plain = indent(lines)
        head = 'def kernel(A: T.Tensor[(4,), "int64"]):'
        return "\n".join([head, *kernel, "", "def plain(A):", *plain, ""])


def functions_of(text, file):
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"T": T}
    exec(compile(text, file, "exec"), names)
    return names["kernel"], names["plain"]


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_random_programs_do_what_python_does(first):
    compared = 0
    for seed in range(first, first + 50):
        text = Program(seed).text()
        kernel, plain = functions_of(text, f"<random program {seed}>")
        expected, result = np.zeros(4, "int64"), np.zeros(4, "int64")
        try:
            plain(expected)
        except NameError:
            continue                         # the kernel may refuse it, or not: no meaning to compare
        try:
            parsed = parse(kernel)
        except TilegenError as error:
            assert error.code in ("TG0002", "TG0112"), f"{error}\n{text}"     # Python decides it at run time
            continue
        run(parsed, {"A": result})
        assert result.tolist() == expected.tolist(), text
        compared += 1
    assert compared >= 20
