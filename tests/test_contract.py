"""The launch contract: expressions, constants read from the file, and what a bad contract says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilegen.errors import TilegenError
from tilegen.runtime.constants import read_constants
from tilegen.runtime.contract import read_contract
from tilegen.runtime.expressions import evaluate, names

SAMPLES = Path(__file__).parent / "samples"


def refused(code: str, call: object, *arguments: object) -> str:
    with pytest.raises(TilegenError) as caught:
        call(*arguments)
    assert caught.value.code == code, caught.value
    return str(caught.value)


@pytest.mark.parametrize("text, value", [
    ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("7 / 2", 3), ("-7 / 2", -3), ("-7 % 3", -1), ("7 - 2 - 1", 4),
    ("ceildiv(10, 4)", 3), ("ceildiv(0, 4)", 0), ("min(3, max(1, 2))", 2), ("1 << 4 | 3", 19),
    ("6 & 3 ^ 1", 3),
    ("1 < 2 && 2 >= 3 || 1", 1), ("!0 + ~0", 0), ("1 ? 2 : 0 ? 3 : 4", 2), ("0 ? 2 : 0 ? 3 : 4", 4),
    ("0x1F", 31), ("1'000u", 1000), ("2 == 2 != 0", 1), ("true", 1), ("1.5f * 2", 3.0), ("1e3 / 2", 500.0),
    ("0 && 1 / 0", 0), ("M % 8 == 0", 1), ("1 ? 5 : 1 / 0", 5)])
def test_expressions(text: str, value: float) -> None:
    result = evaluate(text, {"M": 16}.__getitem__)
    assert result == value and type(result) is type(value)


@pytest.mark.parametrize("text", [
    "", "1 +", "(1", "1)", "f(1)", "ceildiv(1)", "min(1, 2, 3)", "a b", "1 ? 2", "__import__('os')", "a.b",
    "a[0]", "1 = 2", "'x'", "sizeof(Smem)", "M; N"])
def test_what_is_no_expression(text: str) -> None:
    assert "cannot read the expression" in refused("TG0702", evaluate, text, {"a": 1, "b": 2}.__getitem__)


def test_unknown_names_and_division_by_zero() -> None:
    assert "unknown name Q" in refused("TG0702", evaluate, "Q + 1", {}.__getitem__)
    assert "divides by zero" in refused("TG0702", evaluate, "1 % 0", {}.__getitem__)


def test_names_in_order_of_appearance() -> None:
    assert names("M + ceildiv(N, BM) * M > 0 ? K : 1") == ("M", "N", "BM", "K")


def test_constants() -> None:
    found = read_constants("""
        constexpr int BM = 128;       // constexpr int BM = 1;
        /* constexpr int BN = 1; */
        constexpr int WARPS_M = 2, WARPS_N = max(1, 4);
        constexpr int THREADS = 32 * WARPS_M * WARPS_N;
        static constexpr unsigned long long BYTES = BM / WARPS_M * 2ull;
        constexpr float SCALE = 0.125f;
        constexpr bool RAGGED = BM % 3 != 0;
        constexpr double HALF = 1;
        constexpr auto AUTO = 2 * SCALE;
        constexpr int ceildiv(int a, int b) { constexpr int inside = 3; return (a + b - 1) / b; }
        constexpr int SIZE = sizeof(Smem);
        template <int N> struct S { static constexpr int member = N; };
        const char* text = "constexpr int QUOTED = 1;";
#ifdef TILEGEN_MAIN
        constexpr int BM = 5;
        constexpr int HOST = 5;
#endif
    """, "x.cu")
    assert {name: found[name] for name in found.declared if name != "SIZE"} == {
        "BM": 128, "WARPS_M": 2, "WARPS_N": 4, "THREADS": 256, "BYTES": 128, "SCALE": 0.125, "RAGGED": True,
        "HALF": 1.0, "AUTO": 0.25}
    assert type(found["RAGGED"]) is bool and type(found["HALF"]) is float
    assert found.loc("THREADS").line == 5
    assert "sizeof(Smem)" in refused("TG0702", found.__getitem__, "SIZE")


def test_constants_that_cannot_be_told() -> None:
    text = "constexpr int A = B;\nconstexpr int B = A;\nconstexpr int C = 1;\nconstexpr int C = 2;\n"
    found = read_constants(text, "x.cu")
    assert "A is defined by itself" in refused("TG0702", found.__getitem__, "A")
    assert "C is declared twice" in refused("TG0702", found.__getitem__, "C")


def test_a_contract_from_its_file() -> None:
    contract = read_contract((SAMPLES / "scale_add.cpp").read_text(), "scale_add.cpp")
    assert (contract.entry, contract.target, contract.arch) == ("scale_add", "cpu", "avx2")
    assert [p.name for p in contract.params] == ["A", "B", "C", "alpha"]
    assert [p.is_output for p in contract.params] == [False, False, True, False]
    assert contract.sizes == ("M", "N") and contract.knob_values == {"BM": 16, "BN": 32}
    assert contract.line_map["9"] == (19, 21)


def test_the_launch_follows_a_hand_edit() -> None:
    text = (SAMPLES / "transpose.cu").read_text()
    sizes = {"M": 100, "N": 64}
    before = read_contract(text).geometries(sizes)[0]
    assert (before.grid, before.block, before.shared) == ((2, 4, 1), (32, 8, 1), 32 * 33 * 4)
    edited = text.replace("TILE = 32;", "TILE = 16;").replace("ROWS = 8;", "ROWS = 4;")
    after = read_contract(edited).geometries(sizes)[0]
    assert (after.grid, after.block, after.shared) == ((4, 7, 1), (16, 4, 1), 16 * 17 * 4)
    assert read_contract(text).geometries({"M": 0, "N": 64})[0].is_empty


def contract_text(**changes: object) -> str:
    fields = {"entry": "f", "target": "cpu", "knobs": ["BM"], "grid": ["ceildiv(M, BM)"], "block": "1",
              "params": [{"name": "A", "dtype": "float32", "shape": ["M"], "access": "read"}], "sizes": ["M"]}
    fields = {key: value for key, value in (fields | changes).items() if value is not None}
    lines = json.dumps(fields, indent=1).splitlines()
    return "constexpr int BM = 4;\n// tilegen-launch: " + "\n//   ".join(lines) + "\nint after;\n"


def test_the_defaults_of_a_contract() -> None:
    contract = read_contract(contract_text(block=None, arch=None))
    geometry = contract.geometries({"M": 9})[0]
    assert (geometry.grid, geometry.block, geometry.shared) == ((3, 1, 1), (1, 1, 1), 0)
    assert geometry.cluster == (1, 1, 1)


@pytest.mark.parametrize("changes, words", [
    ({"entry": None}, "'entry' has to be a string"),
    ({"params": {}}, "'params' has to be a list"),
    ({"grid": ["M +"]}, "cannot read the expression 'M +'"),
    ({"grid": ["1", "1", "1", "1"]}, "more than three"),
    ({"grid": ["ceildiv(N, BM)"]}, "grid of the launch contract names N"),
    ({"shared": "SMEM"}, "shared of the launch contract names SMEM"),
    ({"requires": ["K % 8 == 0"]}, "requires of the launch contract names K"),
    ({"knobs": ["BK"]}, "knob BK, but the file has no `constexpr int BK"),
    ({"sizes": ["M", "BM"]}, "BM is both a size"),
    ({"params": [{"name": "A", "dtype": "float31", "shape": ["M"]}]}, "argument A: unknown dtype 'float31'"),
    ({"params": [{"name": "A", "dtype": "int8", "shape": ["M"], "access": "none"}]}, "access 'none'"),
    ({"params": [{"name": "A", "dtype": "int8", "shape": ["M"], "swizzle": 1}]}, "'swizzle' is unknown"),
    ({"params": [{"dtype": "int8"}]}, "has no name"),
    ({"params": [{"name": "A", "dtype": "int8", "shape": ["Q"]}]}, "the shape of A"),
    ({"map": {"3": 4}}, "'map'"),
    ({"stages": 3}, "field 'stages' is unknown"),
])
def test_bad_contracts(changes: dict, words: str) -> None:
    message = refused("TG0702", read_contract, contract_text(**changes), "bad.cu")
    assert words in message and "bad.cu:" in message


def test_files_without_a_contract() -> None:
    assert "has no launch contract" in refused("TG0701", read_contract, "int main() {}\n", "main.cpp")
    assert "2 launch contracts" in refused("TG0702", read_contract, contract_text() * 2)
    broken = contract_text().replace('"entry":', '"entry"')
    assert "not JSON" in refused("TG0702", read_contract, broken, "x.cu")
    assert "x.cu:3" in refused("TG0702", read_contract, broken, "x.cu")
    cut = "// tilegen-launch: {\"entry\": \"f\",\nint x;\n"
    assert "not JSON" in refused("TG0702", read_contract, cut)
