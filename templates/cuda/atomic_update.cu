//% if op.order in ("release", "acq_rel", "seq_cst")
__threadfence();  // why: what was written before the update is seen before it
//% endif
${ before }${ function }(&${ e.element(op.buffer, op.indices) }, [&](${ type(old.dtype) } ${ old.name }) { return ${ e(changed(op)) }; });
//% if op.order in ("acquire", "acq_rel", "seq_cst")
__threadfence();  // why: what is read after the update is not older than it
//% endif
