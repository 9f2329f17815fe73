"""Which installed fonts the glyph renderer may use, by kind, and which are held out."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from PIL import ImageFont

FONT_ROOT = Path(os.environ.get("TRAINING_FONTS", "/usr/share/fonts"))
FONT_SIZE = 88  # pixels, on a 128-pixel canvas
Font = ImageFont.FreeTypeFont

# Hairlines vanish at 64 pixels and would teach the model blank images.
_TOO_FAINT = ("Thin", "Hairline", "ExtraLight", "BebasNeue-Light")

# Globs below FONT_ROOT. The Debian package of each folder is listed in ../MODEL_CARD.md.
_TRAIN: dict[str, tuple[str, ...]] = {
    "serif": (
        "truetype/dejavu/DejaVuSerif*.ttf",
        "truetype/liberation/LiberationSerif*.ttf",
        "truetype/freefont/FreeSerif*.ttf",
        "opentype/ebgaramond/*.otf",
        "opentype/linux-libertine/LinLibertine_R*.otf",
        "opentype/urw-base35/[CP]05*.otf",
        "opentype/urw-base35/NimbusRoman*.otf",
        "opentype/urw-base35/URWBookman*.otf",
        "truetype/cmu/cmun[rbt][mxi]*.ttf",
        "opentype/fonts-prociono/*.otf",
        "opentype/didot/*.otf",
        "truetype/lindenhill/*.ttf",
    ),
    "sans": (
        "truetype/dejavu/DejaVuSans*.ttf",
        "truetype/liberation/LiberationSans*.ttf",
        "truetype/freefont/FreeSans*.ttf",
        "truetype/roboto/unhinted/RobotoTTF/*.ttf",
        "truetype/lato/*.ttf",
        "truetype/open-sans/*.ttf",
        "opentype/cantarell/*.otf",
        "truetype/play/*.ttf",
        "truetype/quicksand/*.ttf",
        "opentype/jura/*.otf",
        "opentype/bebas-neue/*.otf",
        "opentype/yanone-kaffeesatz/*.otf",
        "truetype/andika/*.ttf",
        "opentype/urw-base35/NimbusSans*.otf",
        "opentype/urw-base35/URWGothic*.otf",
        "opentype/opendyslexic/OpenDyslexic-*.otf",
        "truetype/averia-gwf/*.ttf",
    ),
    "mono": (
        "truetype/dejavu/DejaVuSansMono*.ttf",
        "truetype/liberation/LiberationMono*.ttf",
        "truetype/freefont/FreeMono*.ttf",
        "truetype/hack/*.ttf",
        "truetype/mononoki/*.ttf",
        "truetype/firacode/*.ttf",
        "truetype/ocr-a/OCRA*.ttf",
    ),
    "hand": (
        "opentype/comic-neue/*.otf",
        "opentype/dancingscript/*.otf",
        "truetype/breip/*.ttf",
        "truetype/fifthhorseman/*.ttf",
        "truetype/ecolier-court/*.ttf",
        "truetype/tomsontalks/*.ttf",
        "truetype/rufscript/*.ttf",
        "truetype/sjfonts/*.ttf",
        "truetype/dustin/Domestic*.ttf",
        "truetype/leckerli-one/*.ttf",
        "truetype/klee/*.ttf",
    ),
}
_HELD_OUT: dict[str, tuple[str, ...]] = {
    "serif": ("truetype/vollkorn/*.ttf", "truetype/gentium/*.ttf"),
    "sans": ("opentype/cabin/*.otf", "truetype/tuffy/*.ttf", "truetype/crosextra/Carlito*.ttf"),
    "mono": ("opentype/courier-prime/*.otf", "truetype/inconsolata/*.?tf"),
    "hand": ("truetype/femkeklaver/*.ttf", "truetype/humor-sans/*.ttf", "truetype/kristi/*.ttf"),
}


@cache
def font_paths(kind: str, held_out: bool = False) -> tuple[Path, ...]:
    """Return the installed font files of one kind, sorted; empty if none is installed."""
    globs = (_HELD_OUT if held_out else _TRAIN)[kind]
    found = {path for pattern in globs for path in FONT_ROOT.glob(pattern)}
    found = {path for path in found if not any(word in path.stem for word in _TOO_FAINT)}
    return tuple(sorted(found))


@cache
def load(path: Path | None) -> Font:
    """Load a font once; ``None`` means Pillow's built-in face, which is always there."""
    if path is not None:
        return ImageFont.truetype(str(path), FONT_SIZE)
    built_in = ImageFont.load_default(FONT_SIZE)
    if not isinstance(built_in, ImageFont.FreeTypeFont):
        raise OSError("Pillow was built without FreeType; install a Pillow wheel that has it")
    return built_in
