const int ${ plan.steps.name } = ${ e(op.stop) };
auto ${ plan.load } = [&](int ${ op.var.name }) {
    const int ${ plan.stage.name } = ${ e(stage) };
${ indent(load) }
};

// ${ origin }
for (int ${ op.var.name } = ${ e(op.start) }; ${ op.var.name } < ${ e(first) }; ++${ op.var.name }) {
    if (${ op.var.name } < ${ plan.steps.name }) ${ plan.load }(${ op.var.name });
    cp_async_commit();
}
//% if once
${ once }

//% endif
for (int ${ op.var.name } = ${ e(op.start) }; ${ op.var.name } < ${ plan.steps.name }; ++${ op.var.name }) {
//% if sync
    // ${ sync }
//% endif
    cp_async_wait<${ e(pending) }>();
    __syncthreads();  // why: stage ${ op.var.name } is complete, and nobody still reads the one before
//% if not plan.lead
    if (${ e(later) } < ${ plan.steps.name }) ${ plan.load }(${ e(later) });
    cp_async_commit();

//% endif
    const int ${ plan.stage.name } = ${ e(stage) };
//% if plan.lead
${ indent(lead) }

    if (${ e(later) } < ${ plan.steps.name }) ${ plan.load }(${ e(later) });
    cp_async_commit();

//% endif
${ indent(rest) }
}
