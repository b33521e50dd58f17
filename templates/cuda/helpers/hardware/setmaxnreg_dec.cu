// Gives registers of this warpgroup's threads back, down to COUNT each.
template <int COUNT> __device__ void setmaxnreg_dec()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(COUNT));
}
