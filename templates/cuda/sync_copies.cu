cp_async_commit();
cp_async_wait<0>();
__syncthreads();  // why: ${ op.reason }
