"""Which engine runs the models, and on which devices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pcevolve_server.engines import choice
from pcevolve_server.errors import (
    SettingsError,
)
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.settings import EngineKind, Settings


def test_each_gpu_has_a_replica_and_more_replicas_share_them_in_turns():
    settings = Settings(engine=EngineKind.PROCESSES, others=(ModelSettings("b"),))
    loads = choice.list_loads(settings, ("cuda:0", "cuda:1"))
    assert [[model.device for model in load.args[0]] for load in loads] == [["cuda:0"] * 2, ["cuda:1"] * 2]
    three = choice.list_loads(replace(settings, replicas=3), ("cuda:0", "cuda:1"))
    assert [load.args[0][0].device for load in three] == ["cuda:0", "cuda:1", "cuda:0"]
    (named,) = choice.list_loads(replace(settings, replicas=1, model=ModelSettings(device="cuda:1")), ())
    assert named.args[0][0].device == "cuda:1"


def test_devices_are_of_processes_alone():
    with pytest.raises(SettingsError, match="--devices needs --engine processes"):
        Settings(devices="cuda:0")
    named = Settings(engine=EngineKind.PROCESSES, devices="cuda:0, cuda:2,")
    assert named.device_names == ("cuda:0", "cuda:2")
