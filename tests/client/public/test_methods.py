"""The methods' names and parameters, which options are read by."""

import subprocess
import sys

from pcevolve.public.methods import METHOD_TABLE
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
