std::fill_n(&${ e(first) }, sizeof ${ e(tile) } / sizeof(${ type(first.buffer.dtype) }), ${ e(value) });
