"""How emitted source has to read: each rule over every file in generated/."""

import re

import pytest
from cpp_text import deepest_index, definitions, functions, groups, is_redundant
from generated_files import FILES, ROOT, code, sections, without_contract, without_selftest
from tilegen import ir
from tilegen.runtime.contract import read_contract

COLUMNS = 100
KNOBS = "Knobs: turn these; everything else in the file follows"
INCLUDES = {
    "cuda": set(),
    "hip": {"hip/hip_runtime.h"},
    "maca": {"mc_runtime.h"},
    "cpu": {
        "immintrin.h",
        "omp.h",
        "algorithm",
        "atomic",
        "cmath",
        "cstdint",
        "cstdio",
        "cstdlib",
        "cstring",
        "limits",
        "memory",
        "type_traits",
        "vector",
    },
}
GPU = [file for file in FILES if file.target != "cpu"]
every_file = pytest.mark.parametrize("file", FILES, ids=str)
every_gpu_file = pytest.mark.parametrize("file", GPU, ids=str)


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


def kernel_part(file) -> str:
    """The layouts and the kernel."""
    parts = sections(without_contract(file.text))
    return "\n".join(text for title, text in parts.items() if title.startswith(("Layouts", "The kernel")))


# ---- The shape of the text -----------------------------------------------------------------------
@every_file
def test_lines_are_at_most_100_columns_wide(file):
    long = [line for line in file.text.splitlines() if len(line) > COLUMNS]
    assert not long


@every_file
def test_no_tabs_no_trailing_blanks_no_double_empty_lines(file):
    assert "\t" not in file.text
    assert not [line for line in file.text.splitlines() if line != line.rstrip()]
    assert "\n\n\n" not in file.text and file.text.endswith("\n") and not file.text.endswith("\n\n")


@every_file
def test_the_parts_come_in_order(file):
    order = [
        "Provenance",
        KNOBS,
        "Device helpers",
        "Helpers",
        "Shared memory",
        "Tiles: one set for each thread",
        "Layouts: the element that this thread holds in a slot",
        "The kernel",
        "Stand-alone: random inputs, a check against plain loops, a timing",
    ]
    found = list(sections(file.text))
    assert found == sorted(found, key=order.index)
    assert found[:2] == order[:2] and found[-2:] == order[-2:]


@every_file
def test_a_comment_is_not_broken_into_three_lines_by_the_wrapper(file):
    """A continuation `//     and` followed by more of the same sentence."""
    assert not re.findall(r"^( *// [A-Z].*)\n *//     \S.*\n *// [a-z].*$", without_contract(file.text), re.MULTILINE)


# ---- Parentheses ---------------------------------------------------------------------------------
@every_file
def test_no_index_has_more_than_two_nested_parentheses(file):
    deep = [line for line in code(file.text).splitlines() if deepest_index(line) > 2]
    assert not deep


@every_file
def test_no_parentheses_are_redundant(file):
    without_asm = re.sub(
        r"asm\s*(?:volatile)?\(.*?\);|__attribute__\(\(.*?\)\)(?=[; ])",
        "",
        without_selftest(file.text),
        flags=re.DOTALL,
    )
    assert not [g for g in groups(code(without_asm)) if is_redundant(g)]


# ---- Names ---------------------------------------------------------------------------------------
def user_names(kernel: ir.Kernel) -> set[str]:
    """Buffers, block variables, and variables of loops: those of T.Parallel only where they index memory."""
    names = (
        {p.name for p in kernel.params} | {v.name for v in kernel.block_vars} | {v.name for v in kernel.sizes}
    )
    for node in ir.walk(kernel.body):
        match node:
            case ir.Alloc():
                names.add(node.buffer.name)
            case ir.For():
                names.add(node.var.name)
            case ir.Parallel():
                used = {
                    n.name
                    for s in node.body
                    for load in ir.walk(s)
                    if isinstance(load, (ir.Load, ir.Store)) and load.buffer.scope == "global"
                    for i in load.indices
                    for n in ir.walk(i)
                    if isinstance(n, ir.Var)
                }
                names |= used & {v.name for v in node.vars}
    return names


@every_file
def test_the_names_of_the_user_survive(file):
    kernel = file.specialised().kernel
    words = set(re.findall(r"\w+", code(without_selftest(file.text))))
    assert user_names(kernel) <= words


@every_file
def test_no_name_is_numbered(file):
    """x_1, tmp3: what somebody else would have to decipher. Types and instructions end in digits too."""
    kernel = file.specialised().kernel
    known = {n.name for n in ir.walk(kernel) if isinstance(n, (ir.Var, ir.Buffer))} | {
        k.name for k in kernel.knobs
    }
    declared = re.findall(
        r"\b(?:int|unsigned|float|double|bool|auto|char|long|float16|bfloat16|float32x8)\s+\*?(\w+)"
        r"(?=\s*(?:=|;|\[|,|\)))",
        code(without_selftest(file.text)),
    )
    assert not [name for name in declared if re.search(r"_?\d+$", name) and name not in known]
    assert not re.findall(r"\b(?:tmp|temp|cse)_?\d*\b", code(kernel_part(file)))


# ---- Literals ------------------------------------------------------------------------------------
@every_file
def test_the_kernel_has_no_large_number(file):
    """Strides, offsets, sizes and counts have names; the least of all numbers has none."""
    body = re.sub(
        r"\b0x[\da-fA-F]+|\b9223372036854775807LL|\b\d+\.\d+(?:e[+-]?\d+)?f?|#pragma[^\n]*|alignas\(\d+\)|__align__\(\d+\)",
        "",
        code(kernel_part(file)),
    )
    assert not re.findall(r"(?<![\w.])\d{3,}\w*", body)


# ---- Top of the file -----------------------------------------------------------------------------
@every_file
def test_nothing_is_included_beyond_what_the_target_needs(file):
    found = re.findall(r'#\s*include\s*[<"](.*?)[>"]', without_selftest(file.text))
    assert set(found) <= INCLUDES[file.target] and len(found) == len(set(found))


@every_file
def test_the_provenance_is_short_and_complete(file):
    lines = sections(file.text)["Provenance"].splitlines()
    comments = [line for line in lines if line.startswith("//")]
    signature = next(n for n, line in enumerate(comments) if line.startswith("// from "))
    assert len(comments) - signature <= 12 - 1 and lines[: len(comments)] == comments
    head = "\n".join(comments)
    contract = file.contract
    for what in (
        f"// {contract.entry}(",
        f"{file.python.name}:",
        f"{file.target} {contract.arch}",
        "generated by tilegen",
        "regenerate  tilegen emit examples/",
        "tilegen check",
        "TILEGEN_MAIN",
        "flop",
        "bytes",
    ):
        assert what in head, what
    if "struct Smem" in file.text:
        assert re.search(r"Shared +\d+ bytes", head) or re.search(r"Shared +\w+ \d+ bytes", head)


@every_file
def test_each_knob_has_a_line_and_a_comment(file):
    lines = sections(file.text)[KNOBS].splitlines()
    declared = [(above, line) for above, line in zip(["", *lines], lines) if line.startswith("constexpr")]
    for above, line in declared:
        assert line.count("constexpr") == 1 and line.count("=") == 1 or "<=" in line or ">=" in line
    listed = set(file.contract.knobs)
    bare = [
        line
        for above, line in declared
        if "//" not in line and not above.startswith("//") and line.split(" =")[0].split()[-1] in listed
    ]
    assert not bare


@every_file
def test_every_static_assert_has_a_sentence(file):
    text = without_contract(file.text)
    found = re.findall(r'static_assert\([^;]*?,\s*"([^"]+)"\);', text)
    assert len(found) == text.count("static_assert(")
    assert all(len(sentence.split()) >= 4 for sentence in found)


# ---- Where things come from ----------------------------------------------------------------------
@every_file
def test_every_origin_names_a_real_line_and_quotes_it(file):
    python = file.python.read_text().splitlines()
    found = re.findall(r"// (\S+\.py):(\d+)(?:-\d+)?  (.*)$", without_contract(file.text), re.MULTILINE)
    assert found
    for name, number, quoted in found:
        line = python[int(number) - 1].strip()
        assert name == file.python.name
        assert line.startswith(quoted.removesuffix(" ...")), f"line {number} is {line}"


@every_file
def test_every_tile_statement_has_its_origin(file):
    kernel = file.specialised().kernel
    found = set(re.findall(r"// \S+\.py:(\d+)", without_contract(file.text)))
    wanted = {
        str(s.loc.line)
        for s in ir.walk(kernel.body)
        if isinstance(s, (ir.Copy, ir.Fill, ir.Gemm, ir.Reduce, ir.Parallel))
        or isinstance(s, ir.For)
        and s.kind == "pipelined"
    }
    assert wanted <= found


@every_gpu_file
def test_every_barrier_says_why(file):
    lines = without_selftest(file.text).splitlines()
    for above, line in zip(["", *lines], lines):
        if re.search(r"__syncthreads\(\)|named_barrier\(", line.partition("//")[0]):
            assert "// why: " in line or "// why: " in above, line


@every_file
def test_the_contract_can_be_read_and_its_map_points_at_the_lines(file):
    contract = read_contract(file.text, file.path.name)
    lines = file.text.splitlines()
    assert contract.line_map and set(contract.knobs) == set(contract.knob_values)
    for python_line, (first, last) in contract.line_map.items():
        assert f"// {file.python.name}:{python_line}" in lines[first - 1]
        assert first <= last <= len(lines)
        for other in lines[first:last]:
            origin = re.search(r"// \S+\.py:(\d+)", other)
            assert origin is None or origin[1] == python_line or f'"{origin[1]}"' in file.text


# ---- Nothing twice, nothing for nothing ----------------------------------------------------------
@every_file
def test_no_helper_is_defined_twice(file):
    heads = [head for _, head in functions(file.text)]
    assert len(heads) > 1 or file.target != "cpu"
    assert len(heads) == len(set(heads))
    names = definitions(without_contract(file.text))
    assert len(set(names)) == len([n for i, n in enumerate(names) if n not in names[:i]])


@every_file
def test_everything_that_is_defined_is_used(file):
    text = without_selftest(file.text)
    plain = code(text.partition("// tilegen-launch:")[0])
    unused = [
        name
        for name in definitions(text)
        if len(re.findall(rf"\b{name}\b", plain)) < 2 + (definitions(text).count(name) > 1)
        and name != file.contract.entry
    ]
    assert not unused
    called = re.findall(r"\b(\w+)(?=\s*[(<>,])", plain)
    assert not [name for name, _ in functions(file.text) if name in definitions(text) and called.count(name) < 2
                and name != file.contract.entry], "a variable of the same name is no use of a function"


@every_file
def test_each_statement_appears_once(file):
    """Pipelines are not peeled and loops not unrolled by hand: the text of a Python line has one place."""
    origins = re.findall(r"// \S+\.py:(\d+)", kernel_part(file))
    assert len(origins) == len(set(origins))


ATTENTION = [f for f in FILES if f.target == "cuda" and f.example[:2] in ("10", "20") and not f.variant]


@pytest.mark.parametrize("file", ATTENTION, ids=str)
def test_attention_reads_in_one_sitting(file):
    """Shared memory, layouts and the kernel, without helpers: under 250 lines; and the steps in their order."""
    parts = sections(without_contract(file.text))
    read = [parts[title] for title in parts if title.startswith(("Shared memory", "Layouts", "The kernel"))]
    lines = "\n".join(text.rstrip() for text in read).splitlines()
    assert len(lines) + len(read) < 250                   # with the heading of each part
    order = ["T.gemm(Q_shared, K_shared", "T.reduce_max(S", "rescale[e] = exp2", "O_local[r][c] *= rescale",
             "S_local[r][c] = exp2", "T.reduce_sum(S", "row_sum[e] = row_sum[e] * rescale[e]", "T.gemm(P_local, V_shared"]
    loop = file.text.partition("// why: stage kb is complete")[2]
    places = [loop.index(step) for step in order]
    assert places == sorted(places)


# ---- Memory and launch ---------------------------------------------------------------------------
@every_file
def test_shared_buffers_are_aligned_and_have_the_users_names(file):
    members = re.search(r"struct (?:Smem|Tiles) \{(.*?)\n\};", file.text, re.DOTALL)
    shared = {
        s.buffer.name
        for s in ir.walk(file.specialised().kernel.body)
        if isinstance(s, ir.Alloc) and s.buffer.scope == "shared"
    }
    assert bool(members) or not shared
    declared = [line for line in (members[1] if members else "").splitlines() if line.strip()]
    member = r" {4,12}(alignas\((16|32|64|128|1024)\) |(struct|union) \{|\};)"
    assert all(re.match(member, line) for line in declared)
    assert shared <= set(re.findall(r"\w+", " ".join(declared)))


@every_gpu_file
def test_the_entry_has_launch_bounds(file):
    assert re.search(
        r"__global__ void __launch_bounds__\(THREADS(?: \+ LOADERS)?, (\d+|MIN_BLOCKS)\)"
        r"(?: __cluster_dims__\(CLUSTER, 1, 1\))?\s+" + file.contract.entry + r"\(",
        file.text,
    )


@every_file
def test_pointers_are_restricted_and_inputs_const(file):
    head = re.search(
        r'extern "C"[^{]*?\b' + file.contract.entry + r"\(([^{]*?)\)\s*\{", file.text, re.DOTALL
    )[1]
    maps = {p.name for p in file.contract.params if p.box}
    assert all(f"const __grid_constant__ TensorMap {name}" in head for name in maps)
    for param in file.specialised().kernel.params:
        if param.buffer is not None and param.name not in maps:
            declared = re.search(rf"[^,(]*\* __restrict__ {param.name}\b", head)
            assert declared and ("const " in declared[0]) == (param.access == "read"), param.name
