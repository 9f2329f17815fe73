"""Language models: a tiny one with random weights, saved and loaded as every release is."""

import shutil

import pytest
import torch

from pcevolve_server import models, sources
from pcevolve_server.errors import AbandonedError, InvalidRequestError, ModelLoadError
from pcevolve_server.language.sampling import Drawn
from pcevolve_server.settings import ModelSettings
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


def test_the_model_says_what_it_is(model):
    info = model.info
    assert (info.id, info.family, info.pipelines, info.base_resolution) == ("tiny", "gpt2", ("chat",), None)
    assert model.memory > 0


def test_a_text_depends_on_its_own_prompt_and_seed_alone(model):
    tasks = [task("hello", 1), task("a longer prompt than the other", 2), task("hello", 2)]
    together = texts(model, *tasks)
    assert together == [text for each in tasks for text in texts(model, each)]
    assert len(set(together)) == 3


def test_without_temperature_the_likeliest_token_is_taken(model):
    cold = TextRecipe(10, temperature=0)
    first, second = texts(model, task(seed=1, recipe=cold), task(seed=2, recipe=cold))
    assert first == second == texts(model, task(seed=3, recipe=TextRecipe(10, top_p=1e-6)))[0]
    assert first == texts(model, task(seed=4, recipe=TextRecipe(10, temperature=1e-300)))[0]


@pytest.mark.statistical
@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.5, 1.0), (2.0, 0.85)])
def test_draws_follow_the_softmax_of_the_scores(temperature, top_p):
    rows, scores = 20_000, torch.tensor([2.0, 1.0, 0.0, -1.0])
    drawn = Drawn(range(rows), temperature, top_p)(torch.zeros(rows, 1), scores.repeat(rows, 1))
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


def test_a_stop_in_the_prompt_ends_nothing(model):
    (whole,) = texts(model, task("hello###"))
    (same,) = model.write([task("hello###", recipe=TextRecipe(20, stops=("###", "#" + whole[0])))])
    assert (same.text, same.finish) == (whole, "length")


def test_a_text_ends_where_the_model_ends_it(saved):
    ending = load(saved)
    (whole,) = texts(ending, task())
    ending._ends.extend(ending._tokenizer(whole[5])["input_ids"])
    (ended,) = ending.write([task()])
    assert ended.text == whole[: whole.index(whole[5])]
    assert (ended.finish, ended.tokens) == ("stop", len(ended.text) + 1)


def test_of_a_prompt_that_is_too_long_the_end_is_read(model):
    (cut,) = model.write([task("x" * 90 + "hello")])
    (kept,) = model.write([task("x" * (CONTEXT - 20 - 5) + "hello")])
    assert (cut.cut_tokens, cut.prompt_tokens) == (90 + 5 - (CONTEXT - 20), CONTEXT - 20)
    assert (kept.cut_tokens, kept.text) == (0, cut.text)


def test_a_text_leaves_half_of_the_context_to_the_prompt(model):
    (found,) = model.write([task("hello", recipe=TextRecipe(4096))])
    assert (found.tokens, found.finish, found.cut_tokens) == (CONTEXT // 2, "length", 0)


def test_the_models_own_template_is_used(saved, tmp_path):
    templated = load(save_writer(tmp_path / "templated", TEMPLATE))
    chat = TextTask(RECIPE, (("system", "be"), ("user", "it")), 3)
    plain = load(saved)
    assert texts(templated, chat) == texts(plain, task("[system]be[user]it", 3))
    assert texts(plain, chat) == texts(plain, task("be\n\nit", 3))
    with pytest.raises(InvalidRequestError, match="template takes no such chat"):
        templated.write([TextTask(RECIPE, (("assistant", "I said"),), 3)])


def test_a_text_that_nobody_waits_for_ends(model):
    steps = []

    def unwanted(step, most):
        steps.append((step, most))
        return step == 3

    with pytest.raises(AbandonedError):
        model.write([task()], unwanted)
    assert steps == [(1, 20), (2, 20), (3, 20)]


@pytest.mark.parametrize(
    ("name", "offline", "message"),
    [
        ("text:/no/such/directory", False, "there is no directory /no/such/directory"),
        (
            "text:maker/writer",
            True,
            r"cannot load the model maker/writer.*hf download maker/writer --local-dir DIR",
        ),
    ],
)
def test_a_model_that_is_not_there_is_told_early(name, offline, message):
    with pytest.raises(ModelLoadError, match=message):
        sources.check(ModelSettings(name, offline=offline))


def test_pickled_weights_and_half_a_model_are_refused(saved, tmp_path):
    pickled = shutil.copytree(saved, tmp_path / "pickled")
    weights = pickled / "model.safetensors"
    weights.rename(pickled / "pytorch_model.bin")
    with pytest.raises(ModelLoadError, match=r"cannot load the language model .*pickled"):
        models.load(ModelSettings(f"text:{pickled}"))
    half = shutil.copytree(saved, tmp_path / "half", ignore=shutil.ignore_patterns("tokenizer*"))
    with pytest.raises(ModelLoadError, match=r"cannot load the language model .*half"):
        models.load(ModelSettings(f"text:{half}"))
