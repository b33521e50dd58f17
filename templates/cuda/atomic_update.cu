${ function }(&${ e.element(op.buffer, op.indices) }, [&](${ type(old.dtype) } ${ old.name }) { return ${ e(changed(op)) }; });
