//% if op.buffer.scope == "var"
${ type(op.buffer.dtype) } ${ op.buffer.name } = ${ e(op.init) if op.init is not none else type(op.buffer.dtype) ~ "()" };
//% else
${ type(op.buffer.dtype) } ${ op.buffer.name }<% for extent in op.buffer.shape %>[${ e(extent) }]<% endfor %> = {};
//% endif
