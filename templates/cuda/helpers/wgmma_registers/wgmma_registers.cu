// Rows `low` and `high` (8 further down) of 64 x ${ columns }: += a * b, or = where not `add`; a is in
// registers as mma has it, b a matrix_descriptor, and TURN_B says that its rows run across the depth.
template <int TURN_B>
__device__ void ${ helper }(float* low, float* high, const unsigned* a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %${ count + 5 }, 0; "
                 "${ opcode } {"
//% for line in places
                 "${ line }"
//% endfor
                 "}, {%${ count }, %${ count + 1 }, %${ count + 2 }, %${ count + 3 }}, %${ count + 4 }, p, 1, 1, %${ count + 6 }; }"
                 : ${ sums }
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TURN_B));
}
