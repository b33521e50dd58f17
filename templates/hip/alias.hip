//% if not alias.reinterprets
auto& ${ alias.name } = reinterpret_cast<${ type(alias.dtype) } (&)<% for extent in shape %>[${ e(extent) }]<% endfor %>>(${ e.array(alias.base) });
//% else
<% set element %>${ alias.name }_element<% endset %>
<% set inner %><% for extent in shape[1:] %>[${ e(extent) }]<% endfor %><% endset %>
using ${ element } __attribute__((may_alias)) = ${ type(alias.dtype) };
//% if inner
${ element } (*${ alias.name })${ inner } = reinterpret_cast<${ element } (*)${ inner }>(${ e.array(alias.base) });
//% else
${ element }* ${ alias.name } = reinterpret_cast<${ element }*>(${ e.array(alias.base) });
//% endif
//% endif
