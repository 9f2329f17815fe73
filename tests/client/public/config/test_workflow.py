"""Workflows of ComfyUI: what makes one usable, and that nothing of one is set but what a title names."""

from __future__ import annotations

import copy
import json

import pytest

from pcevolve.public.config.workflow import fill, normalize, takes_image
from support.comfyui import NODES, WORKFLOW


def changed(**nodes: object) -> str:
    return json.dumps({**copy.deepcopy(NODES), **{name.strip("n"): each for name, each in nodes.items()}})


def test_titles_say_which_inputs_are_set_and_all_else_stays():
    made = fill(WORKFLOW, {"prompt": "a cut", "seed": 9, "image": "p.png", "strength": 0.8})
    assert made["3"]["inputs"] == {**NODES["3"]["inputs"], "seed": 9, "denoise": 0.8}
    assert made["6"]["inputs"]["text"] == "a cut"
    assert made["10"]["inputs"]["image"] == "p.png"
    assert (made["7"], made["9"]) == (NODES["7"], NODES["9"])
    assert fill(WORKFLOW, {"prompt": "a", "seed": 1})["10"] == NODES["10"]


def test_the_spelling_of_a_file_makes_no_difference_and_values_do():
    assert normalize(json.dumps(NODES, indent=3)) == WORKFLOW == normalize(WORKFLOW)
    assert normalize(WORKFLOW.replace("20", "21")) != WORKFLOW


def test_a_workflow_without_an_image_varies_none():
    node = {**NODES["3"], "_meta": {"title": "seed"}}
    still = normalize(changed(n3=node, n10={**NODES["10"], "_meta": {"title": "Load Image"}}))
    assert not takes_image(still)
    assert takes_image(WORKFLOW)
    assert fill(still, {"prompt": "a", "seed": 1, "strength": 1.0})["3"]["inputs"]["denoise"] == 0.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1", "is no JSON"),
        ("[" * 10**5, "is no JSON"),
        ('{"a": NaN}', "is no JSON"),
        ('{"3": "\\ud800"}', "is no JSON"),
        (" " * 100_001, "more than 100000 characters"),
        ("[]", "not in the API's format"),
        ("{}", "not in the API's format"),
        ('{"nodes": [], "links": []}', "not in the API's format: export it with Export"),
        ('{"3": {"class_type": "KSampler"}}', "not in the API's format"),
        (changed(n6={**NODES["6"], "_meta": {"title": "words"}}), "no node that is titled 'prompt'"),
        (changed(n3={**NODES["3"], "_meta": {"title": "strength"}}), "no node that is titled 'seed'"),
        (changed(n3={**NODES["3"], "_meta": {"title": "seed"}}), "no node that is titled 'strength'"),
        (changed(n10={**NODES["10"], "_meta": {}}), "no node that is titled 'image'"),
        (
            changed(n6={**NODES["6"], "inputs": {"text": ["12", 0]}}),
            "node 'prompt' has no input text or .* with a value of its own",
        ),
    ],
)
def test_a_workflow_that_cannot_be_filled_is_refused_with_what_to_do(text, said):
    with pytest.raises(ValueError, match=said):
        normalize(text)
