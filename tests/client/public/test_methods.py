"""The methods' names and parameters, which options are read by."""

import subprocess
import sys

from pcevolve.public.methods import METHOD_TABLE, choose_delta
from pcevolve.public.selectors import METHODS


def test_a_line_of_the_table_names_the_method_that_it_leads_to():
    assert {name: method.name for name, method in METHODS.items()} == {name: name for name in METHOD_TABLE}


def test_options_are_read_without_numpy():
    program = (
        "import sys; from pcevolve.public.config.config import RunConfig; "
        "RunConfig.of({'private': 'x', 'domain': 'y', 'out': 'z', 'method': 'pe', 'votes': 3}); "
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_usual_delta_is_that_of_each_method_s_promise():
    pure = {"pcevolve", "random", "t2i"}
    found = {name: choose_delta(name) for name in ("auto", *METHOD_TABLE)}
    assert found == {name: 0.0 if name in pure else 1e-5 for name in found}
