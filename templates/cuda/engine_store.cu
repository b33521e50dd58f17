if (threadIdx.x == 0) {
    #pragma unroll
    for (int ${ at } = 0; ${ at } < ${ e(cols, "<<") }; ${ at } += ${ piece.name })
        ${ helper }(&${ tensor }, ${ e.array(tile) } + ${ e(place, "+") }, <% for x in places %>${ e(x) }<% if not loop.last %>, <% endif %><% endfor %>);
    tma_store_commit();
    tma_store_wait_read<0>();  // why: shared memory lives as long as the block
}
