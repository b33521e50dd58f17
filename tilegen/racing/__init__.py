"""Races of kernels: in turn, over the same inputs and cold caches, with intervals, against libraries and the roof."""
