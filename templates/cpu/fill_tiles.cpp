fill_tiles(${ e(tile) }, ${ e(rows) }, ${ e(columns) }, ${ e(value) });
