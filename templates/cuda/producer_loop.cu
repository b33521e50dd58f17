//% if once_loads
mbarrier_wait(&${ e.array(free) }, ${ turn }.phase ^ 1);
mbarrier_arrive_expect(&${ e.array(ready) }, ${ once_bytes });
${ once_loads }
${ turn }.next();
//% endif
for (int ${ op.loop.var.name } = ${ e(op.loop.start) }; ${ op.loop.var.name } < ${ plan.steps.name }; ++${ op.loop.var.name }, ${ slot }.next()) {
    const int ${ plan.stage.name } = ${ slot }.stage;
    mbarrier_wait(&${ e.array(empty) }[${ plan.stage.name }], ${ slot }.phase ^ 1);
    mbarrier_arrive_expect(&${ e.array(full) }[${ plan.stage.name }], ${ bytes });
${ indent(loads) }
}
