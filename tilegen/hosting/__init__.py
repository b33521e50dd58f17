"""What calls an emitted file without tilegen: a C header with its launcher, or a Python file that needs CuPy alone."""
