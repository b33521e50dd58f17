const int ${ i } = ${ e(i_value) }, ${ c } = ${ e(c_value) };
const int ${ slab } = ${ piece } % ${ e(count, ">>") };
if (threadIdx.x % WARPGROUP == 0) tma_store_wait_read<${ e(waiting) }>();
named_barrier_sync(2 + ${ group }, WARPGROUP);  // why: the engine has read the slab
${ render(how, **inside) }
fence_async_proxy();  // why: the copy engine reads what the threads wrote
named_barrier_sync(2 + ${ group }, WARPGROUP);  // why: the slab is complete
if (threadIdx.x % WARPGROUP == 0) {
    ${ helper }(&${ tensor }, ${ e.array(slabs) }[${ group }][${ slab }], <% for x in places %>${ e(x) }<% if not loop.last %>, <% endif %><% endfor %>);
    tma_store_commit();
}
