//% if clear
${ body(clear, False) }
//% endif
#pragma unroll 8
for (int ${ k.name } = 0; ${ k.name } < ${ e(depth, "<<") }; ++${ k.name }) {
//% for tile in inner
    ${ type(tile.dtype) } ${ tile.name }<% for extent in tile.shape %>[${ e(extent) }]<% endfor %>;
//% endfor
${ indent(body(load_inner, False)) }
${ indent(body(multiply, False)) }
}
