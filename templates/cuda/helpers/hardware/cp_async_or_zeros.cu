// BYTES bytes from global to shared memory in the background; zeros where there is nothing to read.
template <int BYTES> __device__ void cp_async_or_zeros(void* dst, const void* src, bool exists)
{
    const unsigned address = __cvta_generic_to_shared(dst);
    const int bytes = exists ? BYTES : 0;
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(address), "l"(src), "r"(bytes));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     :: "r"(address), "l"(src), "n"(BYTES), "r"(bytes));
}
