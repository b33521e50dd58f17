const Place ${ op.place } = ${ op.helper }<${ e(op.panel) }>(${ e(op.tile) }, ${ e(op.columns) }, ${ e(op.rows) });
const int <% for name, value in op.names %>${ name } = ${ e(value) }<% if not loop.last %>, <% endif %><% endfor %>;
