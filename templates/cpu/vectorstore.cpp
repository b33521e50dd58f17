${ op.helper }(&${ e(op.target) }, ${ e(op.value) }<% if op.count is not none %>, ${ e(op.count) }<% endif %>);
