if (threadIdx.x == THREADS) {
//% for tensor in tensors
    tma_prefetch_map(&${ tensor });
//% endfor
    for (int stage = 0; stage < ${ e(plan.stages, "<<") }; ++stage) {
        // one thread fills a stage, and every warp${ " of the cluster" if op.cluster else "" } lets go of it
//% for ring in rings
        mbarrier_init(&${ e.array(ring.full) }[stage], 1);
        mbarrier_init(&${ e.array(ring.empty) }[stage], THREADS / WARP${ " * " ~ e(op.cluster, "*") if op.cluster else "" });
//% endfor
    }
//% if op.once
    mbarrier_init(&${ e.array(ready) }, 1);
    mbarrier_init(&${ e.array(free) }, THREADS / WARP);
//% endif
    fence_mbarrier_init();
}
${ "cluster_sync();  " if op.cluster else "__syncthreads();  " }// why: the barriers are ready${ ", of all blocks of the cluster" if op.cluster else "" }

// why: the warpgroups after the first THREADS threads load, and one thread of them does it all
const int ${ group.name } = warpgroup();
if (${ group.name } >= THREADS / WARPGROUP) {
//% if registers
    setmaxnreg_dec<${ registers[0].name }>();
//% endif
    if (threadIdx.x == THREADS) {
        Slot<${ e(plan.stages) }> ${ slot };
//% if op.once
        Slot<1> ${ turn };
//% endif
${ indent(loop, 8) }
//% if op.cluster
        // why: a block stays until the last arrival of the others has come
        for (int i = 0; i < ${ e(plan.stages, "<<") }; ++i, ${ slot }.next())${ " {" if rings | length > 1 else "" }
//% for ring in rings
            mbarrier_wait(&${ e.array(ring.empty) }[${ slot }.stage], ${ slot }.phase ^ 1);
//% endfor
//% if rings | length > 1
        }
//% endif
//% endif
    }
    return;
}
//% if registers
setmaxnreg_inc<${ registers[1].name }>();
//% endif
Slot<${ e(plan.stages) }> ${ slot };
//% if op.once
Slot<1> ${ turn };
//% endif
