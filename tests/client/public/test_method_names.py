"""What methods are called."""

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.method_names import require_method


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
