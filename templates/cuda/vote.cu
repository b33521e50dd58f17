${ around(loops, "if (" ~ e(condition) ~ ") " ~ found ~ " = " ~ e(answer) ~ ";") }
${ found } = __syncthreads_${ meet }(${ found });
