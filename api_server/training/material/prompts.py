"""Say what an image shows in the words a user would type; also when the words mean nothing."""

from __future__ import annotations

from dataclasses import dataclass

from material.facts import DIGITS, Facts, Rng

MEANINGLESS_SHARE = 0.15
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
CATALOGUE = ("type", "kind", "class", "group", "batch", "category", "series", "variant", "lot", "set")
GREEK = ("alpha", "beta", "gamma", "delta", "epsilon", "omega")
_TITLES = {
    "t-shirt": ("t-shirt", "t-shirt", "tee shirt"),
    "trousers": ("trousers", "trousers", "pants"),
    "pullover": ("pullover", "pullover", "sweater"),
    "sneaker": ("sneaker", "sneaker", "shoe"),
    "boot": ("boot", "ankle boot"),
    "cup": ("cup", "mug"),
}
_DEFECT_TITLES = {
    "good": ("no defect", "no defect", "good", "good condition"),
    "stain": ("stain", "droplet", "stain", "droplet"),
    "hole": ("hole", "hole", "puncture"),
    "cut": ("cut", "cut", "slit"),
    "fold": ("fold", "fold", "dent", "crease"),
}
_SYNONYMS = {"steel": ("steel", "metal"), "fabric": ("fabric", "textile", "cloth")}


@dataclass(frozen=True)
class Caption:
    """A prompt for one image, and whether it says more than the domain."""

    text: str
    names_label: bool


def describe(facts: Facts, rng: Rng) -> Caption:
    """Return one of the many prompts that fit the facts.

    With probability ``MEANINGLESS_SHARE`` the prompt names no content, or a catalogue label such
    as ``type B`` that is paired with anything: the model must answer it with the marginal.
    """
    if rng.random() < MEANINGLESS_SHARE:
        return Caption(_meaningless(facts, rng), names_label=False)
    words = {"glyph": _glyph, "surface": _surface, "item": _item}[facts.family]
    return Caption(words(facts, rng), names_label=True)


def pick(rng: Rng, *options: str) -> str:
    return options[int(rng.integers(len(options)))]


def article(noun: str) -> str:
    return ("an " if noun[:1] in "aeio" else "a ") + noun


def template(domain: str, label: str, rng: Rng) -> str:
    """The forms ``A {domain} image with {label}`` and close relatives."""
    roll = rng.random()
    if roll < 0.7:
        return f"{article(domain).capitalize()} image with {label}"
    if roll < 0.8:
        return f"{article(domain)} image of {label}"
    if roll < 0.9:
        return f"{domain}, {label}"
    return f"{article(domain)} with {label}"


def _domain(facts: Facts, rng: Rng) -> str:
    """Name where the image comes from, without its content."""
    if facts.family == "surface":
        material = pick(rng, *_SYNONYMS.get(facts.kind, (facts.kind,)))
        return f"{material} {pick(rng, 'texture', 'texture', 'surface')}"
    if facts.family == "item":
        # "clothing" alone is the photographs' word (captions.py)
        return pick(rng, "fashion", "drawn clothing", "everyday item", "product")
    noun = pick(rng, "glyph", "character", "mark")
    if facts.kind in ("hand", "pen"):
        prefix = "handwritten"
        noun = pick(rng, "mark", "mark", noun, "digit" if facts.label in DIGITS else "letter")
    else:
        prefix = "printed"
        noun = pick(rng, "glyph", "glyph", noun, "digit" if facts.label in DIGITS else "letter")
    if facts.cells < 64 and rng.random() < 0.35:
        prefix = f"low-resolution {prefix}"
    return f"{prefix} {noun}"


def _meaningless(facts: Facts, rng: Rng) -> str:
    if facts.family == "surface":
        domain = pick(rng, "surface sample", "surface", _domain(facts, rng))
    elif facts.family == "item":
        domain = _domain(facts, rng)
    else:
        style = "handwritten" if facts.kind in ("hand", "pen") else "printed"
        noun = pick(rng, "mark", "mark", "glyph", "character", "symbol")
        domain = f"{style} {noun}"
    if rng.random() < 0.25:
        return pick(rng, article(domain), f"{article(domain)} image", domain)
    return template(domain, nonsense(rng), rng)


def nonsense(rng: Rng) -> str:
    """Return a label that says nothing: a catalogue entry such as ``type B``, or a word nobody knows."""
    if rng.random() < 0.2:
        return pseudo_word(rng)
    tag = pick(rng, chr(65 + int(rng.integers(26))), str(rng.integers(10)), pick(rng, *GREEK))
    if rng.random() < 0.4:  # the labels that are met most often
        tag = pick(rng, "A", "B", "C", "D")
    return f"{pick(rng, 'type', *CATALOGUE)} {tag}"


def pseudo_word(rng: Rng) -> str:
    """Return a word nobody knows, so that unknown labels also get the marginal."""
    syllables = [pick(rng, *"bdfgklmnprstvz") + pick(rng, *"aeiou") for _ in range(int(rng.integers(2, 4)))]
    return "".join(syllables) + pick(rng, "", "n", "s", "l")


def _glyph_label(character: str, rng: Rng) -> str:
    if character in DIGITS:
        word = _NUMBER_WORDS[int(character)]
        return pick(rng, *[f"digit {character}"] * 4, f"digit {word}", f"number {character}", character, word)
    return pick(rng, *[f"letter {character}"] * 5, f"the letter {character}", f"character {character}")


def _glyph(facts: Facts, rng: Rng) -> str:
    label = _glyph_label(facts.label, rng)
    look = f"{facts.ink} on {facts.ground}"
    if rng.random() < 0.62:
        prompt = template(_domain(facts, rng), label, rng)
        return f"{prompt}, {look}" if rng.random() < 0.2 else prompt
    style = "handwritten" if facts.kind in ("hand", "pen") else pick(rng, "printed", facts.kind)
    words = [facts.ink] if rng.random() < 0.4 else []
    words += ["bold"] if facts.bold and rng.random() < 0.6 else []
    words += ["blurry"] if facts.blur > 0.8 and rng.random() < 0.5 else []
    words += ["low-resolution"] if facts.cells < 64 and rng.random() < 0.6 else []
    words += [style] if rng.random() < 0.7 else []
    prompt = " ".join([*words, label])
    if rng.random() < 0.45:
        prompt += f" on {facts.ground}"
    return article(prompt) if rng.random() < 0.5 else prompt


def _surface(facts: Facts, rng: Rng) -> str:
    title = pick(rng, *_DEFECT_TITLES.get(facts.label, (facts.label,)))
    if facts.label != "good" and rng.random() < 0.6:
        title += " defect"
    if rng.random() < 0.75:
        return template(_domain(facts, rng), title, rng)
    material = pick(rng, *_SYNONYMS.get(facts.kind, (facts.kind,)))
    if facts.label == "good":
        return f"a good {material} surface"
    return f"{article(material)} surface with {article(title)}"


def _item(facts: Facts, rng: Rng) -> str:
    title = pick(rng, *_TITLES.get(facts.label, (facts.label,)))
    if rng.random() < 0.35:
        title = f"{facts.ink} {title}"
    if rng.random() < 0.6:
        return template(_domain(facts, rng), title, rng)
    prompt = title if rng.random() < 0.5 else article(title)
    return f"{prompt} on {facts.ground}" if rng.random() < 0.3 else prompt
