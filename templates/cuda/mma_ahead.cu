// Operands of two mma steps: one is multiplied while the next is on its way.
${ register } ${ a }[2][${ tiles_m.name }][${ a_registers }], ${ b }[2][${ tiles_n.name }][${ b_registers }];
auto ${ ahead.load } = [&](int ${ ahead.set }, int ${ ahead.stage }, int ${ k }) {
    const int ${ lane } = threadIdx.x % WARP;
${ indent(render("mma_loads", at="[" ~ ahead.set ~ "]", **values)) }
};
