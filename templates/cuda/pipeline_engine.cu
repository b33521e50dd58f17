//% macro release_behind(condition)
//% if cluster
if (${ condition } && threadIdx.x % WARP < ${ e(cluster, "<<") })
    mbarrier_arrive_remote(&${ e.array(rings[0].empty) }[${ behind.name }], threadIdx.x % WARP);
//% else
if (${ condition } && threadIdx.x % WARP == 0) mbarrier_arrive(&${ e.array(rings[0].empty) }[${ behind.name }]);
//% endif
//%- endmacro
// ${ origin }
//% if ready
mbarrier_wait(&${ e.array(ready) }, ${ turn }.phase);
//% endif
//% if behind
int ${ behind.name } = 0;  // the stage of the step before, whose products end in this one
//% endif
for (int ${ op.var.name } = ${ e(op.start) }; ${ op.var.name } < ${ plan.steps.name }; ++${ op.var.name }, ${ slot }.next()) {
    const int ${ plan.stage.name } = ${ slot }.stage;
${ indent(rest) }
//% if behind
${ indent(release_behind(op.var.name ~ " > " ~ e(op.start, ">")) | trim) }
    ${ behind.name } = ${ plan.stage.name };
//% endif
}
//% if behind
wgmma_wait<0>();
${ release_behind(plan.steps.name ~ " > " ~ e(op.start, ">")) | trim }
//% endif
//% if ready
if (threadIdx.x % WARP == 0) mbarrier_arrive(&${ e.array(free) });
${ turn }.next();
//% endif
