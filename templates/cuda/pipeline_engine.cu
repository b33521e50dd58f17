//% macro release(at, guard)
//% if cluster
if (${ guard }threadIdx.x % WARP < ${ e(cluster, "<<") })
    mbarrier_arrive_remote(&${ e.array(empty) }[${ at }], threadIdx.x % WARP);
//% else
if (${ guard }threadIdx.x % WARP == 0) mbarrier_arrive(&${ e.array(empty) }[${ at }]);
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
    mbarrier_wait(&${ e.array(full) }[${ plan.stage.name }], ${ slot }.phase);
${ indent(rest) }
//% if behind
${ indent(release(behind.name, op.var.name ~ " > " ~ e(op.start, ">") ~ " && ") | trim) }
    ${ behind.name } = ${ plan.stage.name };
//% else
${ indent(release(plan.stage.name, "") | trim) }
//% endif
}
//% if behind
wgmma_wait<0>();
${ release(behind.name, plan.steps.name ~ " > " ~ e(op.start, ">") ~ " && ") | trim }
//% endif
//% if ready
if (threadIdx.x % WARP == 0) mbarrier_arrive(&${ e.array(free) });
${ turn }.next();
//% endif
