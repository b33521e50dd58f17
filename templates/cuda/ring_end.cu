//% if free
__syncwarp();  // why: all lanes of the warp have read what was loaded before the loop
if (threadIdx.x % WARP == 0) mbarrier_arrive(&${ e.array(free) });
//% endif
//% if free
${ turn }.next();
//% endif
