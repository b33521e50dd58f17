//% if as_unsigned
${ function }(reinterpret_cast<unsigned long long*>(&${ e.element(op.buffer, op.indices) }), ${ e(op.value) });
//% else
${ function }(&${ e.element(op.buffer, op.indices) }, ${ e(op.value) });
//% endif
