const int ${ plan.steps.name } = ${ e(op.stop) };
auto ${ plan.load } = [&](int ${ op.var.name }) {
    const int ${ plan.stage.name } = ${ op.var.name } % ${ e(plan.stages, "unary") };
${ indent(load) }
};

${ operands }

// ${ origin }
for (int ${ op.var.name } = 0; ${ op.var.name } < ${ e(plan.stages, "+") } - 1; ++${ op.var.name }) {
    if (${ op.var.name } < ${ plan.steps.name }) ${ plan.load }(${ op.var.name });
    cp_async_commit();
}
cp_async_wait<${ e(plan.stages, "+") } - 2>();
__syncthreads();  // why: the first stage is complete
if (${ plan.steps.name } > 0) ${ ahead.load }(0, 0, 0);
for (int ${ op.var.name } = 0; ${ op.var.name } < ${ plan.steps.name }; ++${ op.var.name }) {
    const int ${ plan.stage.name } = ${ op.var.name } % ${ e(plan.stages, "unary") };
    // why: the last step has no next one and loads its own operands again
    const int ${ ahead.next } = ${ op.var.name } + 1 < ${ plan.steps.name } ? (${ op.var.name } + 1) % ${ e(plan.stages, "unary") } : ${ plan.stage.name };
${ indent(rest) }
}
