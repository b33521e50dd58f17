if (!(${ e(op.condition) }))
    assertion_failed("${ (op.loc.short ~ ": " if op.loc else "") ~ (op.message or "the assertion does not hold") }");
