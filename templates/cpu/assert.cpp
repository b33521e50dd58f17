if (!(${ e(op.condition) })) assertion_failed(${ message });
