// ${ what }: += a * b.
__device__ void ${ helper }(${ parameters }, const ${ register }* a, const ${ register }* b)
{
    asm volatile("${ opcode } "
                 "${ places }"
                 : ${ sums | join(", ") }
                 : ${ operands | join(", ") });
}
