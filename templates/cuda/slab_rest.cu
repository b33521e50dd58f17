#pragma unroll
for (int ${ piece } = 0; ${ piece } < ${ e(pieces, "<<") }; ++${ piece }) ${ store }(${ piece });  // the last tile
