// carry and the ${ result } over the threads before number `own` of COUNT (BACKWARD: behind it), whose values
// lie from scratch[first] on, `stride` apart; carry then takes in all of them.
template <int COUNT, bool BACKWARD = false, class T>
__device__ T ${ operation }_before_across_threads(T x, T& carry, T* scratch, int first, int stride, int own)
{
    scratch[first + own * stride] = x;
    __syncthreads();        // why: all values are there
    T start = carry;
    for (int i = 0; i < COUNT; ++i) {
        const int thread = BACKWARD ? COUNT - 1 - i : i;
        if (thread == own) start = carry;
        carry = ${ operation }_of(carry, scratch[first + thread * stride]);
    }
    __syncthreads();        // why: scratch may be used again
    return start;
}
