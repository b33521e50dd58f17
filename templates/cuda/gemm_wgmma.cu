//% macro operand(x)
${ x.helper }<${ e(x.rows, ">>") }>(${ e.array(x.buffer) }[${ e(x.stage) }], ${ e(x.start) }, ${ e(x.k) });
//%- endmacro
wgmma_fence();
#pragma unroll
for (int ${ k } = 0; ${ k } < ${ e(depth, "<<") }; ${ k } += ${ step.name })
    #pragma unroll
    for (int ${ i } = 0; ${ i } < ${ tiles.name }; ++${ i }) {
        const auto ${ first } = ${ operand(a) }
        const auto ${ second } = ${ operand(b) }
        ${ helper }<${ a.turned }, ${ b.turned }>(${ c }[2 * ${ i }], ${ c }[2 * ${ i } + 1], ${ first }, ${ second }, ${ e(add) });
    }
wgmma_commit();
//% for store, pieces in stores
// why: the tile before leaves while this one is computed
#pragma unroll
for (int ${ piece } = 0; ${ piece } < ${ e(pieces, "<<") }; ++${ piece })
    if (${ piece } == ${ e(turn, "==") }) ${ store }(${ piece });
//% endfor
wgmma_wait<${ pending }>();${ '  // why: the step before is complete, this one runs on' if pending else '' }
