${ operands }

// ${ origin }
if (${ plan.steps.name } > 0) {
    mbarrier_wait(&${ e.array(rings[0].full) }[${ slot }.stage], ${ slot }.phase);
    ${ ahead.load }(0, ${ slot }.stage, 0);
}
for (int ${ op.var.name } = 0; ${ op.var.name } < ${ plan.steps.name }; ++${ op.var.name }) {
    const int ${ plan.stage.name } = ${ slot }.stage;
    ${ slot }.next();
${ indent(rest) }
}
${ render("ring_end", ready=ready, free=free, turn=turn) }
