"""Emitted files as regions: which Python line a region is for, how two files differ, and three-way merges."""
