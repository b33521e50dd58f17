//% if not alias.reinterprets
auto& ${ alias.name } = reinterpret_cast<${ type(alias.dtype) } (&)<% for extent in shape %>[${ e(extent) }]<% endfor %>>(${ e.array(alias.base) });
//% else
<% set inner %><% for extent in shape[1:] %>[${ e(extent) }]<% endfor %><% endset %>
<% set part %>${ alias.name }_${ "row" if inner else "element" }<% endset %>
using ${ part } __attribute__((may_alias)) = ${ type(alias.dtype) }${ inner };
${ part }* ${ alias.name } = reinterpret_cast<${ part }*>(${ e.array(alias.base) });
//% endif
