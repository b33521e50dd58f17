<% set inside %>
${ type(dtype) } ${ running.name } = ${ e(identity) };
${ around(runs, assign(running.name, running, update) ~ "\n" ~ assign(e(result), result, running)) }
<% endset %>
${ around(kept, inside.strip("\n")) if kept else "{\n" ~ indent(inside.strip("\n")) ~ "\n}" }
