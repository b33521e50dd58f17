#pragma unroll
for (int ${ i } = 0; ${ i } < ${ rows }; ${ i } += 2)
    #pragma unroll
    for (int ${ j } = 0; ${ j } < ${ cols }; ${ j } += 4) {
        const int ${ lane } = threadIdx.x % WARP;
        const unsigned ${ pairs }[4] = {
//% for place in ["[" ~ i ~ "][" ~ j ~ "]", "[" ~ i ~ " + 1][" ~ j ~ "]", "[" ~ i ~ "][" ~ j ~ " + 2]", "[" ~ i ~ " + 1][" ~ j ~ " + 2]"]
            ${ "pack_pair_as<" ~ type(dtype) ~ ">" if convert else "pack_pair" }(&${ source }${ place }),
//% endfor
        };
        const int ${ row } = ${ e(row_value) };
        const int ${ col } = ${ e(col_value) };
        stmatrix_x4(&${ e(element) }, ${ pairs });
    }
