printf(${ op.format }<% for value in op.values %>, ${ e(value) }<% endfor %>);
