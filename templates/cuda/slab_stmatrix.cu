#pragma unroll
for (int ${ j } = 0; ${ j } < ${ piece.name }; ${ j } += 16) {
    const int ${ at } = (${ c } + ${ j }) / ${ across }, ${ lane } = threadIdx.x % WARP;
    const unsigned ${ pairs }[4] = {
//% for place in ["[2 * " ~ i ~ "][" ~ at ~ "]", "[2 * " ~ i ~ " + 1][" ~ at ~ "]", "[2 * " ~ i ~ "][" ~ at ~ " + 2]", "[2 * " ~ i ~ " + 1][" ~ at ~ " + 2]"]
        pack_pair_as<${ type(dtype) }>(&${ source }${ place }),
//% endfor
    };
    const int ${ row } = ${ e(row_value) }, ${ col } = ${ e(col_value) };
    stmatrix_x4(&${ e(element) }, ${ pairs });
}
