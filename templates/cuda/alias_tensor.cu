//% if alias.dtype == alias.base.dtype
${ "const " if constant }${ type(alias.dtype) }* ${ alias.name } = ${ alias.base.name };
//% else
auto* ${ alias.name } = reinterpret_cast<${ "const " if constant }${ type(alias.dtype) }*>(${ alias.base.name });
//% endif
