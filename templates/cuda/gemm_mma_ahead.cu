#pragma unroll
for (int ${ k } = 0; ${ k } < ${ e(depth, "<<") }; ${ k } += ${ step.name }) {
    const int ${ ahead.set } = ${ k } / ${ step.name } % 2;
    if (${ k } + ${ step.name } < ${ e(depth, "<<") }) {
        ${ ahead.load }(1 - ${ ahead.set }, ${ ahead.stage }, ${ k } + ${ step.name });
    } else {
        cp_async_wait<${ e(ahead.stages, "+") } - 2>();
        __syncthreads();  // why: the next stage is complete, and nobody still reads this one
        ${ ahead.load }(1 - ${ ahead.set }, ${ ahead.next }, 0);
    }
    if (${ k } == 0) {
        if (${ ahead.loop } + ${ e(ahead.stages, "+") } - 1 < ${ ahead.steps }) ${ ahead.load_stage }(${ ahead.loop } + ${ e(ahead.stages, "+") } - 1);
        cp_async_commit();
    }
${ indent(render("mma_product", at="[" ~ ahead.set ~ "]", **plan.values)) }
}
