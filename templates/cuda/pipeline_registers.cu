const int ${ plan.steps.name } = ${ e(op.stop) };
auto ${ plan.load } = [&](int ${ op.var.name }) {
${ indent(load) }
};
auto ${ plan.keep } = [&](int ${ op.var.name }) {
    const int ${ plan.stage.name } = ${ e(stage) };
${ indent(keep) }
};

// ${ origin }
if (${ e(op.start, "<") } < ${ plan.steps.name }) {
    ${ plan.load }(${ e(op.start) });
    ${ plan.keep }(${ e(op.start) });
}
for (int ${ op.var.name } = ${ e(op.start) }; ${ op.var.name } < ${ plan.steps.name }; ++${ op.var.name }) {
//% if sync
    // ${ sync }
//% endif
    __syncthreads();  // why: stage ${ op.var.name } is complete, and nobody still reads the one before
    if (${ op.var.name } + 1 < ${ plan.steps.name }) ${ plan.load }(${ op.var.name } + 1);

    const int ${ plan.stage.name } = ${ e(stage) };
${ indent(rest) }

    if (${ op.var.name } + 1 < ${ plan.steps.name }) ${ plan.keep }(${ op.var.name } + 1);
}
