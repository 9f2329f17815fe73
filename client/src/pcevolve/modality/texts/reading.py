"""From bytes to a text, and to the released form of one. A text is a string in one normal form: see ``plain``."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, TypeAlias

Text: TypeAlias = str
"""A text in its normal form. Outside ``modality`` and ``encoders`` it is opaque: carried, never looked into."""

MOST_BYTES: Final = 2**17
"""Of one text, as it comes: 128 KiB, some twenty thousand words."""
_BLANKS: Final = re.compile(r"\s+")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Unicode's categories of what does not show: controls of terminals and of direction, halves of pairs, nothing."""
_JOINERS: Final = frozenset("\u200c\u200d")
"""Which some scripts need to spell their words."""

_IDS: Final = re.compile(r"(?<!\S)(?=\S*\d)\S{8,}")
"""Words of eight characters or more with a digit among them."""

_APOLOGY: Final = (
    r"(?:i['’ ]?a?m (?:very |so |really |deeply )?sorry|sorry|(?:i|we) (?:must )?apologi[sz]e|my apologies"
    r"|unfortunately|i (?:understand|appreciate) (?:your|that you))\b"
)
_UNABLE: Final = (
    r"(?:i|we)(?:['’]m|['’]re| am| are)? ?(?:can(?:no| no|['’]?)t|could(?:n['’]?| no)t|wo(?:n['’]?)t|will not"
    r"|unable to|not (?:able|allowed|permitted) to|(?:must|have to) (?:respectfully )?decline to)"
)
_TASK: Final = (
    r"(?:help (?:with|you)|assist|comply|fulfil|provide|create|generate|write|produce|engage|discuss|answer"
    r"|respond|process|fabricate|simulate|continue|do (?:that|this|so))"
)
_POLICY: Final = (
    r"(?:your|this|the) (?:request|prompt|content|response|message)\b.{0,60}?"
    r"\b(?:violat|against|blocked|flagged|filtered|rejected by|not (?:allowed|permitted))"
    r".{0,80}?\b(?:polic|guideline|filter|safety|moderation|terms)"
)
_ELSEWHERE: Final = (
    # German, French, Spanish, Portuguese, Italian: an apology or none, then what it cannot do
    r"(?:(?:(?:es )?tut mir (?:sehr )?leid|entschuldigung|leider|(?:je suis (?:vraiment )?)?désolée?|lo siento"
    r"|lo lamento|disculpa|desculpe|sinto muito|lamento|mi dispiace|spiacente)\b.{0,40}?)?(?:"
    r"\b(?:ich kann|kann ich)\b[^.!?]{0,60}?\b(?:nicht|keine[nrs]?)\b[^.,!?]{0,40}?\b(?:helfen|behilflich|erstellen"
    r"|schreiben|bereitstellen|erfüllen|beantworten|generieren|nachkommen)"
    r"|\bje ne (?:peux|puis) pas (?:vous )?(?:aider|répondre|fournir|générer|créer|écrire|rédiger|accéder)"
    r"|\bno (?:puedo|podemos) (?:ayudar|proporcionar|generar|crear|escribir|cumplir|responder)"
    r"|\bnão (?:posso|podemos|consigo) (?:ajudar|fornecer|gerar|criar|escrever|atender|responder)"
    r"|\bnon posso (?:aiutar|fornire|generare|creare|scrivere|soddisfare|rispondere))"
    r"|als (?:eine? )?(?:ki|sprachmodell)\b|en tant qu(?:['’]ia\b|e modèle de langage)"
    r"|como (?:una? )?(?:ia|modelo de (?:lengua\w+|linguagem))\b|in quanto (?:ia|modello linguistico)\b"
    # Chinese, Japanese, Korean, which put no blanks between words
    r"|(?:[^。]{0,6}(?:抱歉|对不起|對不起|遗憾)[^。]{0,20}?)?我?(?:无法|無法|不能)"
    r"(?:为您)?(?:提供|协助|協助|帮助|幫助|满足|滿足|生成|回答|完成)"
    r"|作[为為](?:一[个個名款])?(?:ai|人工智能|人工智慧|大?型?[语語]言模型)"
    r"|[^。]{0,6}(?:申し訳|すみません)[^。]{0,50}?(?:応え|答え|手伝い|提供|作成|生成|対応)[^。]{0,10}?"
    r"(?:できません|できかねます|いたしかねます)"
    r"|(?:죄송|미안)[^.]{0,50}?(?:도와|제공|작성|생성|답변|응답)[^.]{0,20}?(?:수 없|어렵)"
)
_REFUSAL: Final = re.compile(
    rf"\W*(?:{_APOLOGY}.{{0,80}}?\b{_UNABLE} (?:{_TASK}|help\b)|{_UNABLE} {_TASK}|{_POLICY}|{_ELSEWHERE}"
    r"|i must (?:respectfully )?decline\b"
    r"|(?:i['’]m|i am) not comfortable (?:with )?(?:writ|creat|generat|provid|produc)"
    r"|as an? (?:responsible )?(?:ai|artificial intelligence|(?:large )?language model)\b)",
    re.IGNORECASE,
)
"""How a language model begins that does not write what it was asked for, in languages that many texts are in."""


def plain(text: str) -> Text:
    """A text as it is embedded, fingerprinted and released: NFC, one line, nothing that does not show."""
    shown = (
        each
        for each in _BLANKS.sub(" ", text)
        if each in _JOINERS or unicodedata.category(each) not in _UNSEEN
    )
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", "".join(shown))).strip()


def read(data: bytes) -> Text | None:
    """A text that a provider sent; None for what is none: too long, not UTF-8, or nothing that shows."""
    if len(data) > MOST_BYTES:
        return None
    try:
        return plain(data.decode("utf-8")) or None
    except UnicodeDecodeError:
        return None


def without_ids(text: Text) -> Text:
    """A text without what looks like an id or a moment, which a provider may add to the same words; never empty."""
    return _IDS.sub(" ", text).strip() or text


def is_refusal(text: Text) -> bool:
    """True if a language model says in a text that it does not write what it was asked for."""
    return _REFUSAL.match(text) is not None
