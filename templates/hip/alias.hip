//% if not alias.reinterprets
auto& ${ alias.name } = reinterpret_cast<${ type(alias.dtype) } (&)<% for extent in shape %>[${ e(extent) }]<% endfor %>>(${ e.array(alias.base) });
//% else
using ${ alias.name }_element __attribute__((may_alias)) = ${ type(alias.dtype) };
<% set inner %><% for extent in shape[1:] %>[${ e(extent) }]<% endfor %><% endset %>
<% set pointer = " (*)" ~ inner if inner else "*" %>
auto ${ alias.name } = reinterpret_cast<${ alias.name }_element${ pointer }>(${ e.array(alias.base) });
//% endif
