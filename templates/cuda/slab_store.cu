#pragma unroll
for (int ${ i } = 0; ${ i } < ${ tiles.name }; ++${ i })
    #pragma unroll
    for (int ${ c } = 0; ${ c } < ${ e(cols, "<<") }; ${ c } += ${ piece.name }) {
        const int ${ slab } = ${ e(number) }, ${ group } = warpgroup();
        if (threadIdx.x % WARPGROUP == 0) tma_store_wait_read<${ e(waiting) }>();
        named_barrier_sync(2 + ${ group }, WARPGROUP);  // why: the engine has read the slab
${ indent(render(how, **around_piece), 8) }
        fence_async_proxy();  // why: the copy engine reads what the threads wrote
        named_barrier_sync(2 + ${ group }, WARPGROUP);  // why: the slab is complete
        if (threadIdx.x % WARPGROUP == 0) {
            ${ helper }(&${ tensor }, ${ e.array(slabs) }[${ group }][${ slab }], <% for x in places %>${ e(x) }<% if not loop.last %>, <% endif %><% endfor %>);
            tma_store_commit();
        }
    }
