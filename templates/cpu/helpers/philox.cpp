// Number `counter` of a random sequence: Philox 4x32, 10 rounds (Salmon et al., 2011). Four numbers
// come from one block of the generator; the key is the seed, the upper half of the counter is the
// sequence.
static inline unsigned philox(unsigned long long seed, unsigned long long sequence,
                              unsigned long long counter)
{
<% include "common/philox_rounds.cpp" %>

}
