// MACA's device interface where it is the same as HIP's, for checking the text of emitted kernels.
// Nothing here was compiled by MetaX's own compiler.
#pragma once

#include "hip/hip_runtime.h"
