// ${ origin }
for (int ${ op.var.name } = ${ e(op.start) }; ${ op.var.name } < ${ plan.steps.name }; ++${ op.var.name }, ${ slot }.next()) {
    const int ${ plan.stage.name } = ${ slot }.stage;
    mbarrier_wait(&${ e.array(rings[0].full) }[${ plan.stage.name }], ${ slot }.phase);
${ indent(rest) }
    __syncwarp();  // why: all lanes of the warp have read the stage
    if (threadIdx.x % WARP == 0) mbarrier_arrive(&${ e.array(rings[0].empty) }[${ plan.stage.name }]);
}
${ render("ring_end", ready=ready, free=free, turn=turn) }
