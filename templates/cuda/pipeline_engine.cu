// ${ origin }
for (int ${ op.var.name } = ${ e(op.start) }; ${ op.var.name } < ${ plan.steps.name }; ++${ op.var.name }) {
    const int ${ plan.stage.name } = ${ e(stage) };
    mbarrier_wait(&${ e.array(full) }[${ plan.stage.name }], ${ e(phase) });
${ indent(rest) }
    if (threadIdx.x % WARP == 0) mbarrier_arrive(&${ e.array(empty) }[${ plan.stage.name }]);
}
