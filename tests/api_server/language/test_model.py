"""Language models: a tiny one with random weights, saved and loaded as every release is; and the bundled one."""

import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from pcevolve_server import models, networks
from pcevolve_server.errors import AbandonedError, InvalidRequestError, ModelLoadError
from pcevolve_server.language.model import GumbelDraws
from pcevolve_server.model_settings import Batching, ModelSettings
from pcevolve_server.work import TextRecipe, TextTask
from support.tiny_writer import CONTEXT, TEMPLATE, load, save_writer

pytestmark = pytest.mark.models

RECIPE = TextRecipe(20)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_writer(tmp_path_factory.mktemp("writers") / "tiny")


@pytest.fixture(scope="module")
def model(saved):
    return load(saved)


def task(words="hello", seed=1, recipe=RECIPE):
    return TextTask(recipe, (("user", words),), seed)


def texts(model, *tasks):
    return [each.text for each in model.write(tasks)]


def test_a_text_depends_on_its_own_prompt_and_seed_alone(model):
    tasks = [task("hello", 1), task("a longer prompt than the other", 2), task("hello", 2)]
    together = texts(model, *tasks)
    assert together == [text for each in tasks for text in texts(model, each)]
    assert len(set(together)) == 3


@pytest.mark.parametrize(("batching", "alike"), [(Batching.EXACT, ["cpu"]), (Batching.MERGE, [])])
def test_where_texts_are_exact_the_device_computes_alike(saved, monkeypatch, batching, alike):
    devices = []
    monkeypatch.setattr(networks, "compute_alike", lambda device: devices.append(str(device)))
    found = load(saved, batching=batching)
    assert devices == alike
    assert (found.info.pipelines, found.info.negative_prompts) == (("chat",), False)


@pytest.mark.statistical
@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.5, 1.0), (2.0, 0.85)])
def test_draws_follow_the_softmax_of_the_scores(temperature, top_p):
    rows, scores = 20_000, torch.tensor([2.0, 1.0, 0.0, -1.0])
    drawn = GumbelDraws(range(rows), temperature, top_p)(torch.zeros(rows, 1), scores.repeat(rows, 1))
    found = torch.bincount(drawn.argmax(1), minlength=4) / rows
    wanted = torch.softmax(scores / temperature, 0)
    if top_p < 1:
        kept = wanted.cumsum(0) - wanted < top_p
        wanted = wanted * kept / (wanted * kept).sum()
    assert torch.all((found - wanted).abs() <= 4 * (wanted * (1 - wanted) / rows).sqrt())
    colder = torch.softmax(scores / (0.7 * temperature), 0)  # one that is 30 % off would be seen
    assert not torch.all((colder - wanted).abs() <= 4 * (wanted * (1 - wanted) / rows).sqrt())


def test_a_stop_ends_the_text_and_is_no_part_of_it(model):
    (whole,) = texts(model, task())
    stop = whole[5:7]
    assert whole.find(stop) == 5
    recipe = TextRecipe(20, stops=("never written, as it is too long", stop))
    stopped, other = model.write([task(recipe=recipe), task("other", 7, recipe=recipe)])
    assert (stopped.text, stopped.finish) == (whole[:5], "stop")
    assert other.text == texts(model, task("other", 7))[0][: len(other.text)]


def test_a_chat_is_read_in_the_model_s_own_template_or_refused(tmp_path):
    model = load(save_writer(tmp_path, TEMPLATE))
    (written,) = model.write([task("hello")])
    assert written.prompt_tokens == len("[user]hello")
    with pytest.raises(InvalidRequestError, match="this model's template does not accept this chat"):
        model.write([TextTask(RECIPE, (("assistant", "hello"),), 1)])


def test_of_a_prompt_that_is_too_long_the_beginning_is_dropped_and_that_is_said(model):
    whole, cut = model.write(
        [task("b" * (CONTEXT - RECIPE.tokens)), task("a" * 9 + "b" * (CONTEXT - RECIPE.tokens))]
    )
    assert (whole.cut_tokens, cut.cut_tokens) == (0, 9)
    assert whole.text == cut.text
    (long,) = model.write([task("b", recipe=TextRecipe(1000))])
    assert long.tokens <= CONTEXT // 2


def test_a_text_that_nobody_waits_for_ends(model):
    asked = []

    def is_cancelled():
        asked.append(True)
        return len(asked) == 3

    with pytest.raises(AbandonedError):
        model.write([task()], is_cancelled)
    assert len(asked) == 3


def test_pickled_weights_and_half_a_model_are_refused(saved, tmp_path):
    pickled = shutil.copytree(saved, tmp_path / "pickled")
    weights = pickled / "model.safetensors"
    weights.rename(pickled / "pytorch_model.bin")
    with pytest.raises(ModelLoadError, match=r"cannot load the language model .*pickled"):
        models.load(ModelSettings(f"text:{pickled}"))
    half = shutil.copytree(saved, tmp_path / "half", ignore=shutil.ignore_patterns("tokenizer*"))
    with pytest.raises(ModelLoadError, match=r"cannot load the language model .*half"):
        models.load(ModelSettings(f"text:{half}"))


def test_weights_that_lack_are_told_and_not_filled_by_chance(saved, tmp_path):
    lacking = shutil.copytree(saved, tmp_path / "lacking")
    weights = {
        name: each
        for name, each in load_file(lacking / "model.safetensors").items()
        if "mlp.c_fc" not in name
    }
    save_file(weights, lacking / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelLoadError, match=r"its files lack \d+ weights, such as \S*mlp\.c_fc\S*: "):
        models.load(ModelSettings(f"text:{lacking}"))
