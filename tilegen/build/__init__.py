"""Compiles emitted files: toolchains, the cache, and the compilers' messages."""
