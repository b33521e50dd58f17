mbarrier_wait(&${ e.array(op.ring.full) }[${ op.stage.name }], ${ op.slot }.phase);
