"""${ contract.entry } of ${ file } through CuPy alone. Knobs are read from that file, so that the launch follows an edit."""

import pathlib
import re

import cupy

SOURCE = pathlib.Path(__file__).with_name("${ file }").read_text()
KNOBS = dict(re.findall(r"^constexpr \w+ (\w+) = (-?\d+);", SOURCE, re.MULTILINE))
//% for knob in loader.knobs
${ knob } = int(KNOBS["${ knob }"])
//% endfor
//% for constant, value in loader.derived
${ constant } = ${ value }
//% endfor
MODULE = cupy.RawModule(code=SOURCE, options=("-std=c++17",))


def ${ contract.entry }(${ loader.parameters }):
    """Launches on CuPy's current stream; arrays are of CuPy, in rows."""
//% for size, place in loader.shown.items()
    ${ size } = ${ place }
//% endfor
//% for p in loader.made
<% if p.is_workspace %>
    ${ p.name } = cupy.empty(${ loader.shape(p) }, "${ loader.dtype(p) }")
<% else %>
    ${ p.name } = cupy.empty(${ loader.shape(p) }, "${ loader.dtype(p) }") if ${ p.name } is None else ${ p.name }
<% endif %>
//% endfor
//% for p in contract.params if p.is_array
    assert ${ p.name }.dtype == "${ loader.dtype(p) }" and ${ p.name }.shape == ${ loader.shape(p) } and ${ p.name }.flags.c_contiguous
//% endfor
//% for condition, text in loader.requires
    assert ${ condition }, "${ contract.entry } requires ${ text }"
//% endfor
//% for launch in contract.launches
    kernel, grid = MODULE.get_function("${ launch.entry }"), ${ loader.tuple_of(launch.grid) }
    shared = ${ loader.value(launch.shared) }
    if shared > 48 * 1024:
        kernel.max_dynamic_shared_size_bytes = shared
    if 0 not in grid:
        kernel(grid, ${ loader.tuple_of(launch.block) }, ${ loader.arguments(launch) }, shared_mem=shared)
//% endfor
    return ${ loader.results }
