"""The methods' names and parameters, which options are read by."""

import subprocess
import sys

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.method_names import require_method
from pcevolve.public.methods import METHOD_TABLE
from pcevolve.selectors import METHODS


def test_a_line_of_the_table_names_the_method_that_it_leads_to():
    assert {name: method.name for name, method in METHODS.items()} == {name: name for name in METHOD_TABLE}


def test_what_a_method_is_called_is_found_by_its_own_name_and_by_the_papers():
    assert require_method("pe", ["pe"]) == "pe"
    assert require_method("b", ["t2i"]) == "t2i"
    assert require_method("auto", ["auto", "pe"]) == "auto"
    with pytest.raises(UsageError, match=r"unknown method 'vote': choose one of auto, pe$"):
        require_method("vote", ["pe"])
    with pytest.raises(UsageError, match="'init' makes no dataset"):
        require_method("init", ["pe"])
    with pytest.raises(UsageError, match="auto is not a method"):
        require_method("auto", ["pe"])


def test_options_are_read_without_numpy():
    program = (
        "import sys; from pcevolve.config.config import RunConfig; "
        "RunConfig.of({'private': 'x', 'domain': 'y', 'out': 'z', 'method': 'pe', 'votes': 3}); "
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
