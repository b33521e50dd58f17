__device__ void cp_async_commit() { asm volatile("cp.async.commit_group;"); }
