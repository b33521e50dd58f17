fill(${ e(tile) }, ${ e(value) });
