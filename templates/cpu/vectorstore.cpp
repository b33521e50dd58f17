${ op.helper }(&${ e(op.target) }<% if op.stride is not none %>, ${ e(op.stride) }<% endif %>, ${ e(op.value) }<% if op.count is not none %>, ${ e(op.count) }<% endif %>);
