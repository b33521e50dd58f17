cuda
