if (threadIdx.x == THREADS) {
//% for tensor in tensors
    tma_prefetch_map(&${ tensor });
//% endfor
    for (int stage = 0; stage < ${ e(plan.stages, "<<") }; ++stage) {
        mbarrier_init(&${ e.array(full) }[stage], 1);  // one thread fills a stage
        mbarrier_init(&${ e.array(empty) }[stage], THREADS / WARP);  // and every warp lets go of it
    }
//% if ready
    mbarrier_init(&${ e.array(ready) }, 1);
//% endif
//% if free
    mbarrier_init(&${ e.array(free) }, THREADS / WARP);
//% endif
    fence_mbarrier_init();
}
__syncthreads();  // why: the barriers are ready

// why: the warp after the first THREADS threads loads, and one thread of it does it all
if (threadIdx.x >= THREADS) {
    if (threadIdx.x == THREADS) {
        Slot<${ e(plan.stages) }> ${ slot };
//% if ready
        Slot<1> ${ turn };
//% endif
${ indent(loop, 8) }
    }
    return;
}
Slot<${ e(plan.stages) }> ${ slot };
//% if ready
Slot<1> ${ turn };
//% endif
