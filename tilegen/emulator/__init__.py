"""Runs emitted CUDA, HIP and MACA files on the CPU: C++ headers and a runtime, and what compiles them.

The C++ side: `tilegen_emulator.h` is included before the emitted text, which is compiled unchanged by the
system's C++ compiler; the `.cc` files are the runtime, one fibre for each thread of the GPU.
"""
