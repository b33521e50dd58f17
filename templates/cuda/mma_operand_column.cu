#pragma unroll
for (int ${ tile } = 0; ${ tile } < ${ tiles }; ${ advance })
    #pragma unroll
    for (int ${ q } = 0; ${ q } < ${ count }; ++${ q }) {
        const int ${ row } = ${ e(load.row) };
        const int ${ col } = ${ e(load.col) };
        ${ registers }[${ tile }][${ q }] = gather_column<${ e(load.pitch) }>(&${ e(load.element) });
    }
