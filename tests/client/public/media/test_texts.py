"""A text is a text, whatever holds it, and which of its words become blanks; questions to a medium of either kind."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.loop.usability import Usability
from pcevolve.public.media import UnreadableError, find_medium
from pcevolve.public.media.texts import blank_out, normalise, read_text
from pcevolve.public.modality import Kind
from pcevolve.public.plan import PublicPlan
from pcevolve_shared import images
from pcevolve_shared.blanks import BLANK
from support.pools import pool_of
from support.provider import png
from support.runs import small_plan

TEXTS = find_medium("text")


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (b"  a  bird\n\tof prey ", "a bird of prey"),
        ("e\u0301t\u00e9".encode(), "\u00e9t\u00e9"),
        ("safe\u202etxt.exe".encode(), "safetxt.exe"),
        (b"\x1b[31mred\x1b[0m \x07", "[31mred[0m"),
        ("zero\u200bwidth\ufeff".encode(), "zerowidth"),
        (b"<b>&amp;</b>", "<b>&amp;</b>"),
        ("\u0645\u06cc\u200c\u062e\u0648".encode(), "\u0645\u06cc\u200c\u062e\u0648"),
        (b"", None),
        (b" \n\x00", None),
        ("\u200d \u200c".encode(), None),
        (b"\xff\xfe", None),
        ("half a pair \ud800".encode("utf-8", "surrogatepass"), None),
        (b"a" * 131_073, None),
    ],
)
def test_what_was_sent_is_read_as(sent, text):
    assert read_text(sent) == text


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("a finch, id 3f2c9d1a", "A finch, id 8be01c77", True),
        ("诊断: 患者45岁男性高血压三年", "诊断: 患者60岁女性糖尿病五年", False),
    ],
)
def test_answers_are_alike_that_differ_in_ids_and_in_no_clause(one, other, alike):
    named = [TEXTS.check(each.encode()).signature.tobytes() for each in (one, other)]
    assert (named[0] == named[1]) == alike


@given(st.text())
def test_a_normal_form_stays_as_it_is_and_shows_on_one_line(text):
    once = normalise(text)
    assert normalise(once) == once == once.strip()
    assert not any(unicodedata.category(each) in ("Cc", "Cs") for each in once)


@given(st.binary(max_size=200))
def test_what_is_released_is_a_line_that_is_read_back(data):
    try:
        released = TEXTS.encode_release(data)
    except UnreadableError:
        assert read_text(data) is None
        return
    assert released.endswith(b"\n")
    assert read_text(released) == read_text(data) == TEXTS.decode(data)


@given(st.text(min_size=1).map(normalise).filter(bool), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_all_words_stay_where_they_are_but_as_many_as_the_degree_says(text, degree, seed):
    words, found = text.split(" "), blank_out(text, degree, seed).split(" ")
    assert all(each in (BLANK, word) for each, word in zip(found, words, strict=True))
    gone = sum(each == BLANK != word for each, word in zip(found, words, strict=True))
    assert gone <= max(round(degree * len(words)), int(degree > 0)) <= gone + words.count(BLANK)


def test_the_same_seed_takes_the_same_words_everywhere():
    text = "a feline mammal with thick soft fur and no ability to roar"
    assert blank_out(text, 0.5, 7) == "a feline mammal _ _ _ fur and _ _ _ roar"
    assert blank_out(text, 0.0, 7) == text
    assert set(blank_out(text, 1.0, 7).split(" ")) == {BLANK}
    assert blank_out("word", 0.01, 7) == BLANK


@pytest.mark.parametrize("degree", [0.25, 0.5])
def test_every_place_is_blank_about_as_often(degree):
    text, draws = " ".join("abcdefgh"), 2000
    drawn = [blank_out(text, degree, seed).split(" ") for seed in range(draws)]
    counts = [sum(word == BLANK for word in of_place) for of_place in zip(*drawn, strict=True)]
    spread = 5 * (draws * degree * (1 - degree)) ** 0.5
    assert all(abs(count - draws * degree) < spread for count in counts)


def of_texts(tokens: int) -> PublicPlan:
    written = small_plan().model_dump(mode="json")
    made = {"kind": "text", "tokens": tokens, "temperature": 1.0}
    return PublicPlan.model_validate({**written, "modality": made})


@pytest.mark.parametrize(("tokens", "most"), [(5, 4096), (100, 6400)])
def test_a_text_may_be_longer_than_asked_for_but_not_endlessly(tokens: int, most: int):
    plan = of_texts(tokens)
    assert find_medium("text").describe_oversize(b"w" * most, plan) == ""
    fault = find_medium("text").describe_oversize(b"w" * (most + 1), plan)
    assert fault == f"a text of {most + 1} bytes where {tokens} tokens were asked for"


def test_a_picture_is_shown_small_and_a_text_as_it_is_read():
    picture, text = find_medium("image").show(png(1)), find_medium("text").show(b"a\x1b b\n")
    assert images.media_type(picture.jpeg) == "image/jpeg"
    assert (picture.text, text.jpeg, text.text) == ("", b"", "a b")


@pytest.mark.parametrize(
    ("kind", "said"),
    [("image", "does not exist"), ("text", "cannot be read: No such file")],
)
def test_a_file_that_cannot_be_read_says_why(kind: Kind, said: str, tmp_path: Path):
    with pytest.raises(UnreadableError, match=f"^{said}"):
        find_medium(kind).open(tmp_path / "gone")


def test_a_link_that_leads_nowhere_is_no_picture(tmp_path: Path):
    (tmp_path / "link.png").symlink_to(tmp_path / "gone")
    with pytest.raises(UnreadableError, match="is not a regular file; replace or remove it"):
        find_medium("image").open(tmp_path / "link.png")


@pytest.mark.parametrize("kind", ["image", "text"])
def test_a_row_of_a_table_is_of_its_column_s_type(kind: Kind):
    import pyarrow as pa

    cell = find_medium(kind).make_cell("1", b"held\n")
    assert pa.array([cell], type=find_medium(kind).arrow_type()).to_pylist() == [cell]


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that request.",
        "I’m sorry, I can’t help with that.",
        "I am sorry, but as a language model I cannot provide medical records.",
        "Sorry, I'm unable to write this.",
        "I cannot fulfill this request.",
        "I can't create content of this kind.",
        "Unfortunately, I am not able to generate such a text.",
        "As an AI language model, I do not have personal experiences.",
        "We apologize, but we are unable to comply.",
        "I understand your request, but I cannot generate medical records.",
        "I'm not comfortable writing this.",
        "This request violates our content policy.",
        "The response was filtered due to the prompt triggering our content management policy.",
        "I must decline to write about this.",
        '"I won\'t do that."',
    ],
)
def test_a_refusal_cannot_be_used(text: str):
    assert find_medium("text").check(text.encode()).fault == "refusals"
    assert find_medium("text").decode(text.encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        "I can't help but love this restaurant.",
        "I cannot recommend this place enough!",
        "I'm sorry I ever bought this vacuum cleaner; it broke in a week.",
        "Sorry for the late review. The food was cold.",
        "Unfortunately the patient could not be reached.",
        "We could not find any difference between the groups.",
        "A fever that will not go away.",
        "I won't go back: they could not provide a receipt.",
        "As an aid to digestion, ginger is unsurpassed.",
        "The request was denied by the insurer because of the terms of the policy.",
        "Leider kann ich das Restaurant nicht empfehlen.",
        "Ich kann nicht mehr, bitte helfen Sie mir.",
        "Je ne peux pas recommander ce produit.",
        "Lo siento, pero no puedo recomendar este hotel.",
        "Como una iguana al sol.",
        "很遗憾，这家餐厅的菜太咸了。",
        "我不能吃辣。",
        "すみません、駅はどこですか。",
    ],
)
def test_a_text_that_only_sounds_like_a_refusal_can_be_used(text: str):
    assert find_medium("text").check(text.encode()).fault == ""


def test_texts_are_the_same_that_differ_in_the_id_of_their_request_and_not_those_that_differ_in_numbers():
    def different(*texts: str) -> int:
        pool, stored = pool_of(*(text.encode() for text in texts))
        plan = small_plan(dialect="chat", labels=("cut",))
        (found,) = Usability(plan, stored.__getitem__).of(pool)
        return found.different

    assert different("No such content. Request 8f3e2c1a-77", "No such content. Request 00aa11bb-42") == 1
    assert different("Glucose 120, age 45.", "Glucose 130, age 45.") == 2
    assert different("8f3e2c1a77", "00aa11bb42") == 2
