"""`did you mean ...?`"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_ROLES = ("write a T.Pipelined loop: on sm_90a the planner gives its loads to a warpgroup of their own, with the copy "
          "engine, mbarriers and wgmma")
_CLUSTERS = "write T.Kernel: on sm_90a the planner makes clusters whose blocks load for each other"
_REGISTERS = "leave it out: on sm_90a the knobs LOADER_REGISTERS and COMPUTE_REGISTERS say it"
# What TileLang's kernels write for single steps of the hardware, which the planner decides here.
_STAND_INS = {
    **dict.fromkeys(("ws WarpSpecialize alloc_barrier barrier_wait barrier_arrive mbarrier_arrive mbarrier_expect_tx "
                     "mbarrier_arrive_expect_tx mbarrier_wait_parity tma_copy tma_load tma_store_arrive tma_store_wait "
                     "wgmma_gemm wait_wgmma warpgroup_arrive warpgroup_commit_batch warpgroup_wait "
                     "fence_proxy_async").split(), _ROLES),
    **dict.fromkeys("ClusterKernel copy_cluster cluster_sync cluster_arrive cluster_wait block_rank_in_cluster".split(),
                    _CLUSTERS),
    **dict.fromkeys(("set_max_nreg inc_max_nreg dec_max_nreg no_set_max_nreg annotate_producer_reg_dealloc "
                     "annotate_consumer_reg_alloc disable_warp_group_reg_alloc").split(), _REGISTERS)}


def stand_in(name: str) -> str:
    """A hint that says what does the work of an operation of TileLang that is none here, or an empty string."""
    return _STAND_INS.get(name, "")


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str:
    """A hint that names the closest of `known`, or an empty string."""
    by_lower_case = {candidate.lower(): candidate for candidate in sorted(known, reverse=True)}
    close = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.6)
    return f"did you mean {prefix}{by_lower_case[close[0]]}?" if close else ""
