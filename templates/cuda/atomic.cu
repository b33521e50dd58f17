//% if op.order in ("release", "acq_rel", "seq_cst")
__threadfence();  // why: what was written before the update is seen before it
//% endif
//% if as_unsigned
${ before }${ function }(reinterpret_cast<unsigned long long*>(&${ e.element(op.buffer, op.indices) }), ${ e(op.value) });
//% else
${ before }${ function }(&${ e.element(op.buffer, op.indices) }, ${ e(op.value) });
//% endif
//% if op.order in ("acquire", "acq_rel", "seq_cst")
__threadfence();  // why: what is read after the update is not older than it
//% endif
