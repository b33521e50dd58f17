#pragma unroll
for (int ${ tile } = 0; ${ tile } < ${ tiles }; ++${ tile })
    #pragma unroll
    for (int ${ q } = 0; ${ q } < ${ count }; ++${ q })
        ${ registers }[${ tile }][${ q }] = pack_pair(&${ load.buffer }${ load.lead }[2 * ${ tile } + ${ q } % 2][${ k } / 4 + ${ q } / 2 * 2]);
