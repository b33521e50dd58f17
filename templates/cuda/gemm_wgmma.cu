//% macro operand(x)
${ x.helper }<${ e(x.rows, ">>") }>(${ e.array(x.buffer) }${ "[" ~ e(x.stage) ~ "]" if x.stage is not none else "" }, ${ e(x.start) }, ${ e(x.k) });
//%- endmacro
//% if registers
unsigned ${ first }[${ tiles.name }][${ e(depth, "*") } / ${ step.name }][4];
#pragma unroll
for (int ${ i } = 0; ${ i } < ${ tiles.name }; ++${ i })
    #pragma unroll
    for (int ${ k } = 0; ${ k } < ${ e(depth, "<<") }; ${ k } += ${ step.name })
        #pragma unroll
        for (int ${ q } = 0; ${ q } < 4; ++${ q })
            ${ first }[${ i }][${ k } / ${ step.name }][${ q }] = pack_pair(&${ registers }[2 * ${ i } + ${ q } % 2][${ k } / 4 + ${ q } / 2 * 2]);
//% endif
wgmma_fence();
#pragma unroll
for (int ${ k } = 0; ${ k } < ${ e(depth, "<<") }; ${ k } += ${ step.name })
    #pragma unroll
    for (int ${ i } = 0; ${ i } < ${ tiles.name }; ++${ i }) {
//% if not registers
        const auto ${ first } = ${ operand(a) }
//% endif
        const auto ${ second } = ${ operand(b) }
//% if registers
        ${ helper }<${ b.turned }>(${ c }[2 * ${ i }], ${ c }[2 * ${ i } + 1], ${ first }[${ i }][${ k } / ${ step.name }], ${ second }, ${ e(add) });
//% else
        ${ helper }${ "<" ~ a.turned ~ ", " ~ b.turned ~ ">" if turns else "" }(${ c }[2 * ${ i }], ${ c }[2 * ${ i } + 1], ${ first }, ${ second }, ${ e(add) });
//% endif
    }
wgmma_commit();
//% for store, pieces in stores
// why: the tile before leaves while this one is computed
#pragma unroll
for (int ${ piece } = 0; ${ piece } < ${ e(pieces, "<<") }; ++${ piece })
    if (${ piece } == ${ e(turn, "==") }) ${ store }(${ piece });
//% endfor
wgmma_wait<${ pending }>();${ '  // why: the step before is complete, this one runs on' if pending else '' }
