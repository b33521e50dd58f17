//% if turns
// Rows `low` and `high` (8 further down) of 64 x ${ columns }: += a * b, or = where not `add`; a and b are
// matrix_descriptors, and TURN_A and TURN_B say that their rows run across the depth.
template <int TURN_A, int TURN_B>
//% else
// Rows `low` and `high` (8 further down) of 64 x ${ columns }: += a * b, or = where not `add`; a and b are
// matrix_descriptors of operands whose rows run along the depth.
//% endif
__device__ void ${ helper }(${ kind }* low, ${ kind }* high, unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %${ count + 2 }, 0; "
                 "${ opcode } {"
//% for line in places
                 "${ line }"
//% endfor
                 "}, %${ count }, %${ count + 1 }, p${ ", 1, 1" if signs else "" }${ ", %" ~ (count + 3) ~ ", %" ~ (count + 4) if turns else "" }; }"
                 : ${ sums }
                 : "l"(a), "l"(b), "r"(add)${ ', "n"(TURN_A), "n"(TURN_B)' if turns else "" });
}
