<% set run %>
${ type(dtype) } ${ partial.name } = ${ e(identity) };
${ around(inner, assign(partial.name, partial, partial_update)) }
${ type(dtype) } ${ running.name } = ${ e(start) };
${ around(inner, assign(running.name, running, update) ~ "\n" ~ assign(e(result), result, running)) }
<% endset %>
<% set inside %>
${ type(dtype) } ${ carry.name } = ${ e(identity) };
${ around(runs, run.strip("\n")) if runs else run.strip("\n") }
<% endset %>
${ around(kept, inside.strip("\n")) if kept else "{\n" ~ indent(inside.strip("\n")) ~ "\n}" }
