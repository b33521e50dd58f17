//% if not alias.reinterprets
${ "const " if constant }${ type(alias.dtype) }* ${ alias.name } = ${ alias.base.name };
//% else
<% set element %>${ "const " if constant }${ alias.name }_element<% endset %>
using ${ alias.name }_element __attribute__((may_alias)) = ${ type(alias.dtype) };
${ element }* ${ alias.name } = reinterpret_cast<${ element }*>(${ alias.base.name });
//% endif
