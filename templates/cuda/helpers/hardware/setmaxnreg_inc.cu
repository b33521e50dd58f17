// Takes registers for this warpgroup's threads, up to COUNT each.
template <int COUNT> __device__ void setmaxnreg_inc()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(COUNT));
}
