__syncthreads();${ "  // why: " ~ op.reason if op.reason else "" }
