// Everything that this header declares and that the emulator has is in tilegen_emulator.h.
