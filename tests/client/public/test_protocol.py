"""Messages between keeper and runner are bounded, and hold nothing but what is named."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pcevolve.public import protocol
from support.runs import RUN_ID

DIGEST = "0" * 64


@pytest.mark.parametrize(
    ("message", "fits", "too_much"),
    [
        (protocol.Prepare, {"run_id": RUN_ID}, {"run_id": RUN_ID + "0"}),
        (protocol.Prepared, {"method_reason": "x" * 1000}, {"method_reason": "x" * 1001}),
        (protocol.Prepared, {"encoder_reason": "x" * 1000}, {"encoder_reason": "x" * 1001}),
        (protocol.Begin, {"plan": DIGEST}, {"plan": DIGEST + "0"}),
        (protocol.Compare, {"classes": ((DIGEST,) * 4096,)}, {"classes": ((DIGEST,) * 4097,)}),
        (protocol.Compare, {"classes": ((),) * 4096}, {"classes": ((),) * 4097}),
        (protocol.Made, {"slot": "x" * 200, "digests": ()}, {"slot": "x" * 201, "digests": ()}),
        (
            protocol.Made,
            {"slot": "x", "digests": (DIGEST,) * 4096},
            {"slot": "x", "digests": (DIGEST,) * 4097},
        ),
        (protocol.Show, {"iteration": 0}, {"iteration": -1}),
        (protocol.Show, {"iteration": 10_000}, {"iteration": 10_001}),
        (
            protocol.Release,
            {"iteration": 1, "head": DIGEST},
            {"iteration": 1, "head": "../" + DIGEST[3:]},
        ),
        (protocol.Close, {}, {"more": 1}),
    ],
)
def test_a_message_holds_so_much_and_no_more_and_an_error_repeats_none_of_it(message, fits, too_much):
    assert message(**fits) == message.model_validate_json(message(**fits).model_dump_json())
    with pytest.raises(ValidationError) as error:
        message(**too_much)
    assert "input_value" not in str(error.value)


def test_a_message_is_what_it_was_when_it_was_made():
    with pytest.raises(ValidationError, match="frozen"):
        protocol.Prepare(run_id=RUN_ID).run_id = "1" * 32
