"""Leaves out what this machine cannot run."""

from tilegen.placement import can_launch


def pytest_collection_modifyitems(config, items):
    """Tests marked `gpu` run where CuPy finds a GPU, and are deselected elsewhere."""
    if can_launch("cuda"):
        return
    left_out = [item for item in items if item.get_closest_marker("gpu")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
