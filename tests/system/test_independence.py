"""What the provider sees does not depend on the private data, except for which of its own images comes back."""

from __future__ import annotations

import json
from pathlib import Path

from pcevolve.transcript.bodies import Bodies, BodyRef
from support.folders import class_folders, events
from support.processes import Client


def requests(run: Path) -> list[dict]:
    """Everything that left, put together again."""
    bodies = Bodies(run / "transcript" / "bodies")
    sent = [event for event in events(run) if event["kind"] == "sent"]
    return [{**event, "body": bodies.get(BodyRef(**event["body"])).decode()} for event in sent]


def without_image(request: dict) -> dict:
    body = json.loads(request["body"] or "{}")
    image = body.pop("image", None)
    lengths = {"Content-Length"} if image else set()
    headers = [pair for pair in request["headers"] if pair[0] not in lengths]
    kept = {key: value for key, value in request.items() if key != "wire_bytes" or not image}
    return {**kept, "headers": headers, "body": body, "has_image": image is not None}


def test_two_private_datasets_that_differ_in_everything_cause_the_same_requests(client: Client, tmp_path):
    runs = []
    for seed, shots in ((1, 3), (2, 5)):
        private = class_folders(tmp_path / f"private {seed}", seed=seed, shots=shots)
        runs.append(tmp_path / f"run{seed}")
        done = client(*client.run_options(private, runs[-1]))
        assert done.returncode == 0, done.stderr
    one, two = (requests(run) for run in runs)
    assert one[:2] == two[:2]
    assert [without_image(each) for each in one] == [without_image(each) for each in two]
    assert sum(without_image(each)["has_image"] for each in one) == 3 * 2 * 2
    assert [e["slot"] for e in one if "text-to-image" in e["url"]] == [e["slot"] for e in one[1:5]]
