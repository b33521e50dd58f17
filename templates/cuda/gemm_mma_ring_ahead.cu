#pragma unroll
for (int ${ k } = 0; ${ k } < ${ e(depth, "<<") }; ${ k } += ${ step.name }) {
    const int ${ ahead.set } = ${ k } / ${ step.name } % 2;
    if (${ k } + ${ step.name } < ${ e(depth, "<<") }) {
        ${ ahead.load }(1 - ${ ahead.set }, ${ ahead.stage }, ${ k } + ${ step.name });
    } else {
        __syncwarp();  // why: all lanes of the warp have read the stage
        if (threadIdx.x % WARP == 0) mbarrier_arrive(&${ e.array(ahead.empty) }[${ ahead.stage }]);
        if (${ ahead.loop } + 1 < ${ ahead.steps }) {
            mbarrier_wait(&${ e.array(ahead.full) }[${ ahead.slot }.stage], ${ ahead.slot }.phase);
            ${ ahead.load }(1 - ${ ahead.set }, ${ ahead.slot }.stage, 0);
        }
    }
${ indent(render("mma_product", at="[" ~ ahead.set ~ "]", **plan.values)) }
}
