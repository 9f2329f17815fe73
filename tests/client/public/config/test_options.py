"""What messages call options, and which of them a plan repeats."""

from __future__ import annotations

from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options
from pcevolve.public.config.options import AS_KEYWORDS, advise, say_missing, spell_as, spell_before, suggest
from pcevolve.public.methods import METHOD_TABLE
from pcevolve.public.modality import Images
from pcevolve.public.plan import PublicPlan
from pcevolve.public.settings import MethodSettings


def test_what_a_plan_embeds_of_a_run_is_public():
    embedded = {
        f"{section}.{name}"
        for section in ("data", "privacy", "provider")
        for name in PublicPlan.model_fields[section].annotation.model_fields
    }
    methods = [MethodSettings, *(each.parameters for each in METHOD_TABLE.values())]
    embedded |= {f"method.{name}" for each in methods for name in each.model_fields}
    asked = {*Images.model_fields}
    shown = [option for option in list_options(RunConfig) if option.path in embedded or option.name in asked]
    assert {"candidates", "delta", "guidance", "image_hosts", "steps"} <= {option.name for option in shown}
    assert all(option.setting.public for option in shown)


def test_an_option_is_called_as_it_was_typed_and_else_by_its_flag_or_its_key():
    options = {option.name: option for option in list_options(RunConfig)}
    epsilon, votes = options["epsilon"], options["votes"]
    assert (epsilon.spelled, votes.spelled) == ("--epsilon", "method.votes")
    with spell_as({"epsilon": "privacy.epsilon in run.toml"}.get):
        assert (epsilon.spelled, spell_before("epsilon")) == (
            "privacy.epsilon in run.toml",
            "privacy.epsilon in run.toml: ",
        )
        assert votes.spelled == "method.votes"
    with spell_as(AS_KEYWORDS):
        assert (epsilon.spelled, votes.spelled, advise("epsilon", 10)) == ("epsilon", "votes", "epsilon=10")


def test_what_is_missing_is_asked_for_in_one_line():
    options = {option.name: option for option in list_options(RunConfig)}
    assert say_missing([options["out"]]) == "--out must be given: see --help"
    three = [options[name] for name in ("private", "domain", "out")]
    assert say_missing(three) == "--private, --domain and --out must be given: see --help"
    assert suggest("dleta", options) == "; did you mean delta?"
