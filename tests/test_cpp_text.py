"""The reader of emitted C++ behind the rules about its text."""

import pytest
from cpp_text import deepest_index, definitions, functions, groups, is_redundant


@pytest.mark.parametrize(
    "text, redundant",
    [
        ("x = (a + b) * c;", False),
        ("x = (a * b) + c;", True),
        ("x = a - (b + c);", False),
        ("x = (a - b) + c;", True),
        ("x = ((a));", True),
        ("return (a);", True),
        ("y = -(a + b);", False),
        ("if (a) f(b);", False),
        ("x = a / (b * c);", False),
        ("x = c ? (a + b) : d;", True),
        ("x = (a && b) || c;", False),
        ("A[(i + 1)]", True),
        ("x = (unsigned long long)y;", False),
        ("x = a * (b / c);", False),
        ("z = (a < b) & 1;", False),
    ],
)
def test_redundant_parentheses_are_recognised(text, redundant):
    assert any(is_redundant(g) for g in groups(text)) == redundant


def test_depth_of_an_index_is_recognised():
    assert deepest_index("A[f(x) + (i * (j + 1))]") == 2
    assert deepest_index("A[((i * (j + 1)))] + g(h(k(l(m))))") == 3


def test_definitions_are_found():
    text = """
constexpr int BM = 16;   // rows
struct Smem {
    float tile[BM];
};
template <int N, class T> __device__ T twice(T x) { return 2 * x; }
static inline int once(int x)
{
    return x;
}
"""
    assert [name for name, _ in functions(text)] == ["twice", "once"]
    assert definitions(text) == ["BM", "Smem", "twice", "once"]
