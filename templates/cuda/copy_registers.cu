copy_registers(${ op.src.buffer.name }, ${ op.dst.buffer.name });
