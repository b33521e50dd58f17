//% if op.buffer.scope == "var"
${ type(op.buffer.dtype) } ${ op.buffer.name }${ " = " ~ e(assignable(op.init, op.buffer.dtype)) if op.init is not none else "" };
//% else
${ "alignas(" ~ aligned ~ ") " if aligned else "" }${ type(op.buffer.dtype) } ${ op.buffer.name }<% for extent in shape %>[${ e(extent) }]<% endfor %>${ " = {}" if zeroed else "" };
//% endif
