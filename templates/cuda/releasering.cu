//% if op.cluster is not none
if (threadIdx.x % WARP < ${ e(op.cluster, "<<") })
    mbarrier_arrive_remote(&${ e.array(op.ring.empty) }[${ op.stage.name }], threadIdx.x % WARP);
//% else
if (threadIdx.x % WARP == 0) mbarrier_arrive(&${ e.array(op.ring.empty) }[${ op.stage.name }]);
//% endif
