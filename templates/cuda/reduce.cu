<% set inside %>
${ type(dtype) } ${ partial.name } = ${ e(identity) };
//% if guard is none
${ around(along, assign(partial.name, partial, update)) }
//% else
${ around(along, "if (" ~ e(guard) ~ ") " ~ assign(partial.name, partial, update)) }
//% endif
${ assign(e(result), result, stored) }
<% endset %>
${ around(kept, inside.strip("\n")) if kept else "{\n" ~ indent(inside.strip("\n")) ~ "\n}" }
