static unsigned philox_on_host(unsigned long long seed, unsigned long long sequence,
                               unsigned long long counter)
{
<% include "common/philox_rounds.cpp" %>

}
