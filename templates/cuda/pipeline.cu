const int ${ plan.steps.name } = ${ e(op.stop) };
auto ${ plan.load } = [&](int ${ op.var.name }) {
    const int ${ plan.stage.name } = ${ op.var.name } % ${ e(plan.stages, "unary") };
${ indent(load) }
};

// ${ origin }
for (int ${ op.var.name } = 0; ${ op.var.name } < ${ e(plan.stages, "+") } - 1; ++${ op.var.name }) {
    if (${ op.var.name } < ${ plan.steps.name }) ${ plan.load }(${ op.var.name });
    cp_async_commit();
}
for (int ${ op.var.name } = 0; ${ op.var.name } < ${ plan.steps.name }; ++${ op.var.name }) {
//% if sync
    // ${ sync }
//% endif
    cp_async_wait<${ e(plan.stages, "+") } - 2>();
    __syncthreads();  // why: stage ${ op.var.name } is complete, and nobody still reads the one before
    if (${ op.var.name } + ${ e(plan.stages, "+") } - 1 < ${ plan.steps.name }) ${ plan.load }(${ op.var.name } + ${ e(plan.stages, "+") } - 1);
    cp_async_commit();

    const int ${ plan.stage.name } = ${ op.var.name } % ${ e(plan.stages, "unary") };
${ indent(rest) }
}
