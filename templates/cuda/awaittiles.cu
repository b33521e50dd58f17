mbarrier_wait(&${ e.array(op.ready) }, ${ op.turn }.phase);  // why: ${ op.tiles | join(", ") } ${ "is" if op.tiles | length == 1 else "are" } complete
