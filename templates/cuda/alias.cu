auto& ${ alias.name } = reinterpret_cast<${ type(alias.dtype) } (&)<% for extent in shape %>[${ e(extent) }]<% endfor %>>(${ e.array(alias.base) });
