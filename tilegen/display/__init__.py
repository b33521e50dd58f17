"""Kernels and emitted files as HTML, for notebooks: each piece stands alone and asks nothing of a network."""
