const int ${ plan.steps.name } = ${ e(op.loop.stop) };
if (threadIdx.x == THREADS) {
    for (int stage = 0; stage < ${ e(plan.stages, "<<") }; ++stage) {
        mbarrier_init(&${ e.array(full) }[stage], 1);                // one thread fills a stage
        mbarrier_init(&${ e.array(empty) }[stage], THREADS / WARP);  // every warp lets go of it
    }
    fence_mbarrier_init();
}
__syncthreads();  // why: the barriers are ready

// why: the threads after the first THREADS load, and one of them does it all
if (threadIdx.x >= THREADS) {
//% if registers
    setmaxnreg_dec<${ registers[0].name }>();
//% endif
    if (threadIdx.x == THREADS) {
        for (int ${ op.loop.var.name } = ${ e(op.loop.start) }; ${ op.loop.var.name } < ${ plan.steps.name }; ++${ op.loop.var.name }) {
            const int ${ plan.stage.name } = ${ e(stage) };
            mbarrier_wait(&${ e.array(empty) }[${ plan.stage.name }], ${ e(phase, "^") } ^ 1);
            mbarrier_arrive_expect(&${ e.array(full) }[${ plan.stage.name }], ${ bytes });
${ indent(loads, 12) }
        }
    }
    return;
}
//% if registers
setmaxnreg_inc<${ registers[1].name }>();
//% endif
