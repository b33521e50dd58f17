// ${ what }: += a * b.
__device__ void ${ helper }(${ parameters }, const ${ register }* a, const ${ register }* b)
{
//% if packed
    unsigned sums[2] = {pack_pair(low), pack_pair(high)};
//% endif
    asm volatile("${ opcode } "
                 "${ places }"
                 : ${ sums | join(", ") }
                 : ${ operands | join(", ") });
//% if packed
    unpack_pair(low, sums[0]);
    unpack_pair(high, sums[1]);
//% endif
}
