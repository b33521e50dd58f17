const int ${ plan.steps.name } = ${ e(op.stop) };
auto ${ plan.load } = [&](int ${ op.var.name }) {
${ indent(load) }
};

// ${ origin }
if (${ e(op.start, "<") } < ${ plan.steps.name }) ${ plan.load }(${ e(op.start) });
for (int ${ op.var.name } = ${ e(op.start) }; ${ op.var.name } < ${ plan.steps.name }; ++${ op.var.name }) {
    __syncthreads();  // why: nobody still reads the tiles of the step before
${ indent(keep) }
//% if sync
    // ${ sync }
//% endif
    __syncthreads();  // why: the tiles of this step are complete
    if (${ op.var.name } + 1 < ${ plan.steps.name }) ${ plan.load }(${ op.var.name } + 1);

${ indent(rest) }
}
