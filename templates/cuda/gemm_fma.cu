//% if clear
${ body(clear, False) }
//% endif
for (int ${ k.name } = 0; ${ k.name } < ${ e(depth, "<<") }; ${ k.name } += ${ e(step) }) {
//% for tile in outer
    ${ type(tile.dtype) } ${ tile.name }<% for extent in tile.shape %>[${ e(extent) }]<% endfor %>;
//% endfor
${ indent(body(load_outer, False)) }
    #pragma unroll
    for (int ${ kk.name } = 0; ${ kk.name } < ${ e(step) }; ++${ kk.name }) {
//% if inner
//% for tile in inner
        ${ type(tile.dtype) } ${ tile.name }<% for extent in tile.shape %>[${ e(extent) }]<% endfor %>;
//% endfor
${ indent(body(load_inner, False), 8) }
//% endif
${ indent(body(multiply, False), 8) }
    }
}
