"""Where kernels meet other programs: notebooks."""
