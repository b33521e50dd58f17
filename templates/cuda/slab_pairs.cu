#pragma unroll
for (int ${ j } = 0; ${ j } < ${ width.name }; ${ j } += 8)
    #pragma unroll
    for (int ${ r } = 0; ${ r } < 2; ++${ r }) {
        const int ${ lane } = threadIdx.x % WARP;
        const int ${ row } = ${ e(row_value) }, ${ col } = ${ e(col_value) };
        store_vector<2>(&${ e(element) }, &${ source }[2 * ${ i } + ${ r }][(${ c } + ${ j }) / ${ across }]);
    }
