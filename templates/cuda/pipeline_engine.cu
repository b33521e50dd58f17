// ${ origin }
for (int ${ op.var.name } = ${ e(op.start) }; ${ op.var.name } < ${ plan.steps.name }; ++${ op.var.name }, ${ slot }.next()) {
    const int ${ plan.stage.name } = ${ slot }.stage;
    mbarrier_wait(&${ e.array(full) }[${ plan.stage.name }], ${ slot }.phase);
${ indent(rest) }
//% if cluster
    if (threadIdx.x % WARP < ${ e(cluster, "<<") })
        mbarrier_arrive_remote(&${ e.array(empty) }[${ plan.stage.name }], threadIdx.x % WARP);
//% else
    if (threadIdx.x % WARP == 0) mbarrier_arrive(&${ e.array(empty) }[${ plan.stage.name }]);
//% endif
}
