"""What is encoded before a run: once for each text and image, and nothing is kept beside the outcome."""

import pytest

pytestmark = pytest.mark.models


def test_what_is_kept_of_a_prompt_holds_no_graph_of_how_it_was_computed(generator):
    kept = generator.encoded("a prompt that nobody else asks for")
    assert not kept.requires_grad
    assert kept.grad_fn is None
