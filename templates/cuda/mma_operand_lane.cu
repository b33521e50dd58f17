#pragma unroll
for (int ${ tile } = 0; ${ tile } < ${ tiles }; ${ advance })
    #pragma unroll
    for (int ${ q } = 0; ${ q } < ${ count }; ++${ q }) {
        const int ${ row } = ${ e(load.row) };
        const int ${ col } = ${ e(load.col) };
        ${ registers }[${ tile }][${ q }] = ${ load.helper }${ "<" ~ e(load.pitch) ~ ">" if load.pitch else "" }(&${ e(load.element) });
    }
