fill(${ op.dst.buffer.name }, ${ e(value) });
