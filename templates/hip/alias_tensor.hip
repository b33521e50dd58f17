//% if alias.dtype == alias.base.dtype
${ "const " if constant }${ type(alias.dtype) }* ${ alias.name } = ${ alias.base.name };
//% else
using ${ alias.name }_element __attribute__((may_alias)) = ${ type(alias.dtype) };
auto* ${ alias.name } = reinterpret_cast<${ "const " if constant }${ alias.name }_element*>(${ alias.base.name });
//% endif
