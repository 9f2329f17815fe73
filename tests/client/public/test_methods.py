"""The methods' names and parameters, which options are read by."""

import subprocess
import sys

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.methods import METHOD_SETTINGS, require_method
from pcevolve.selectors import METHODS


def test_every_method_of_the_registry_has_its_parameters_and_no_other_has_any():
    assert {name: method.parameters for name, method in METHODS.items()} == METHOD_SETTINGS


def test_a_method_is_found_by_its_own_name_and_by_the_papers():
    assert require_method("pe") == "pe"
    assert require_method("b") == "t2i"
    with pytest.raises(UsageError, match="unknown method 'vote': choose one of aug-pe, auto, dp-means"):
        require_method("vote")
    with pytest.raises(UsageError, match="'init' makes no dataset"):
        require_method("init")
    with pytest.raises(UsageError, match="auto is not a method"):
        require_method("auto")


def test_options_are_read_without_numpy():
    program = (
        "import sys; from pcevolve.config.config import RunConfig; "
        "RunConfig.of({'private': 'x', 'domain': 'y', 'out': 'z', 'method': 'pe', 'votes': 3}); "
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
