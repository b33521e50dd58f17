hip
