#pragma unroll
for (int ${ piece } = 0; ${ piece } < ${ e(pieces, "<<") }; ++${ piece }) {
${ indent(render("slab_piece", **inner)) }
}
