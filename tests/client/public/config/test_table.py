"""The table of options: written of the declarations, and what it refuses the models refuse in the same words."""

from __future__ import annotations

import pytest

from pcevolve.app.cli.reference import make_table
from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options
from pcevolve.public.config.runner import PublicConfig
from pcevolve.public.config.table import FILE, require_given, require_sound, run_options

GIVEN = {"private": "x", "domain": "d", "out": "o"}
WRONG = ("", "many", "1.5", "-1", "0", "1e12", "99999999999999999999", "maybe", "nan", "1_0", "10.0", "auto")


def test_the_table_is_what_the_declarations_say():
    assert FILE.read_text("utf-8") == make_table(), "make docs-options writes it"
    assert [each.path for each in run_options()] == [each.path for each in list_options(RunConfig)]


def test_the_table_knows_the_owner_s_options_as_the_models_do():
    owners = {each.name for each in run_options() if each.private}
    public = {each.name for each in run_options() if not each.private}
    assert public == {each.name for each in list_options(PublicConfig)}
    assert public | owners == {each.name for each in list_options(RunConfig)}
    assert {"private", "secrets", "ledger", "words", "subsample_seed"} <= owners


@pytest.mark.parametrize("option", run_options(), ids=lambda option: option.name)
def test_what_the_table_refuses_the_models_refuse_in_the_same_words(option):
    method = {} if not option.methods else {"method": option.methods[0]}
    for wrong in WRONG:
        value = [wrong] if option.is_repeated else wrong
        told = _refusal(require_sound, {option.name: value})
        if told is not None and option.name != "epsilon":
            refused = _refusal(RunConfig.of, {**GIVEN, **method, option.name: value})
            assert refused is not None
            assert refused.partition(": ")[2] == told.partition(": ")[2]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"candidates": "0"}, "--candidates: Input should be greater than or equal to 1"),
        ({"candidates": "many"}, "--candidates: Input should be a valid integer, unable to parse"),
        ({"delta": "1"}, "--delta: delta must be at least 0 and below 1, not 1"),
        ({"max_cost": -1}, "--max-cost: Input should be greater than or equal to 0"),
        ({"relation": "sideways"}, "privacy.relation: Input should be 'replace-one' or 'add-remove'"),
        ({"unlabelled": "maybe"}, "data.unlabelled: Input should be a valid boolean"),
        (
            {"formats": ["parquet", "tsv"]},
            "output.formats: Input should be 'parquet', 'webdataset', 'jsonl' or 'csv'",
        ),
        ({"strengths": ["0.5", "2"]}, "method.strengths: Input should be less than or equal to 1"),
        ({"epsilon": "abc"}, "--epsilon must be a finite number above 0, not abc"),
        ({"method": "vote"}, "unknown method 'vote': choose one of aug-pe, auto, dp-means"),
    ],
)
def test_a_value_that_its_declaration_rules_out_is_refused_by_the_table(values, told):
    assert (_refusal(require_sound, values) or "").startswith(told)


def test_a_run_without_what_it_needs_is_told_all_of_it():
    with pytest.raises(UsageError, match=r"^--private and --out must be given: see --help$"):
        require_given({"domain": "d"})
    require_given(GIVEN)


def _refusal(check, values) -> str | None:
    try:
        check(values)
    except UsageError as error:
        return str(error)
    return None
