//% if op.order in ("release", "acq_rel", "seq_cst")
__atomic_thread_fence(__ATOMIC_SEQ_CST);  // why: what was written before the update is seen before it
//% endif
<% if op.previous %>${ op.previous.name } = <% endif %>atomic_${ op.op }(&${ e.element(op.buffer, op.indices) }, ${ e(op.value) });
//% if op.order in ("acquire", "acq_rel", "seq_cst")
__atomic_thread_fence(__ATOMIC_SEQ_CST);  // why: what is read after the update is not older than it
//% endif
