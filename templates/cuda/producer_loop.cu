//% if once_loads
//% if free
mbarrier_wait(&${ e.array(free) }, ${ turn }.phase ^ 1);
//% endif
mbarrier_arrive_expect(&${ e.array(ready) }, ${ once_bytes });
${ once_loads }
${ turn }.next();
//% endif
for (int ${ op.loop.var.name } = ${ e(op.loop.start) }; ${ op.loop.var.name } < ${ plan.steps.name }; ++${ op.loop.var.name }, ${ slot }.next()) {
    const int ${ plan.stage.name } = ${ slot }.stage;
//% for ring, bytes, text in loads
//% if not loop.first
${ "" }
//% endif
    mbarrier_wait(&${ e.array(ring.empty) }[${ plan.stage.name }], ${ slot }.phase ^ 1);
    mbarrier_arrive_expect(&${ e.array(ring.full) }[${ plan.stage.name }], ${ bytes });
${ indent(text) }
//% endfor
}
