"""Options of the tests, and what this machine cannot run."""

import pytest

from tilegen import cli
from tilegen.placement import can_launch


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden", action="store_true", help="write generated/ anew instead of comparing it"
    )
    parser.addoption(
        "--fuzz-minutes",
        type=float,
        default=0.0,
        metavar="N",
        help="also run random kernels for N minutes (tests marked `fuzz`)",
    )


def pytest_collection_modifyitems(config, items):
    """Tests marked `gpu` run where CuPy finds a GPU, those marked `fuzz` with --fuzz-minutes; elsewhere
    they are deselected."""
    unwanted = set() if can_launch("cuda") else {"gpu"}
    unwanted |= set() if config.getoption("--fuzz-minutes") else {"fuzz"}
    left_out = [item for item in items if any(item.get_closest_marker(mark) for mark in unwanted)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def tilegen(capsys):
    """Runs a command line; gives its status, stdout and stderr."""
    def call(*arguments):
        status = cli.main([str(a) for a in arguments])
        output = capsys.readouterr()
        assert "Traceback" not in output.err and "itself failed" not in output.err
        return status, output.out, output.err
    return call
