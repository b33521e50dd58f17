//% if clear is not none
${ body((clear,), False) }
//% endif
${ helper }(${ e(panels) }, &${ e(corner) }, ${ e(pitch) }, ${ e(rows) }, ${ e(columns) });
