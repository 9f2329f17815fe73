"""Whatever the published schema allows is answered as the schema says."""

import pytest
from hypothesis import HealthCheck, given, settings

from flood.servers import running
from pcevolve_shared import wire
from support.examples import examples

ROUTES = [
    *(("POST", path) for path in (wire.TEXT_TO_IMAGE, wire.IMAGE_TO_IMAGE, wire.IP_ADAPTER)),
    *(("POST", path) for path in (wire.OPENAI_GENERATIONS, wire.OPENAI_EDITS, wire.CHAT)),
    *(("GET", path) for path in (wire.MODELS, wire.MODELS + "/{model}", wire.BALANCE)),
    *(("GET", path) for path in (wire.HEALTH, wire.READY, wire.METRICS)),
]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    import schemathesis  # every worker imports this file, and one runs it

    with running(tmp_path_factory.mktemp("fuzzed")) as server:
        yield schemathesis.openapi.from_url(f"http://127.0.0.1:{server.port}/openapi.json")


def test_every_route_is_tried(published):
    assert {(each.ok().method.upper(), each.ok().path) for each in published.get_all_operations()} == set(
        ROUTES
    )


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_the_server_keeps_its_own_schema(published, method, path):
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    # Which models and schedulers there are, and whether a string is an image: what keeps to the schema may be refused.
    beyond_schemas = [positive_data_acceptance]

    @given(case=published[path][method].as_strategy())
    @settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
    def ask(case):
        case.call_and_validate(excluded_checks=beyond_schemas)

    ask()
