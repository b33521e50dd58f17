#pragma unroll
for (int ${ j } = 0; ${ j } < ${ width.name }; ${ j } += 16) {
    const int ${ at } = (${ c } + ${ j }) / ${ across }, ${ lane } = threadIdx.x % WARP;
//% if packed
    const unsigned ${ pairs }[4] = {
        ${ packed }[2 * ${ i }][${ at } / 2], ${ packed }[2 * ${ i } + 1][${ at } / 2],
        ${ packed }[2 * ${ i }][${ at } / 2 + 1], ${ packed }[2 * ${ i } + 1][${ at } / 2 + 1],
    };
//% else
    const unsigned ${ pairs }[4] = {
//% for row, col in [("2 * " ~ i, at), ("2 * " ~ i ~ " + 1", at), ("2 * " ~ i, at ~ " + 2"), ("2 * " ~ i ~ " + 1", at ~ " + 2")]
        pack_${ dtype.name }(${ source }[${ row }][${ col }], ${ source }[${ row }][${ col } + 1]),
//% endfor
    };
//% endif
    const int ${ row } = ${ e(row_value) }, ${ col } = ${ e(col_value) };
    stmatrix_x4(&${ e(element) }, ${ pairs });
}
