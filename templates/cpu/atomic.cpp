atomic_${ op.op }(&${ e.element(op.buffer, op.indices) }, ${ e(op.value) });
