"""Slots: what a memory speaks of, so that a new value can take the place of the old one and of nothing else.

Subjects and attributes come from models and rules that word them differently; here they are folded into one name.
Whether a statement supersedes another is decided in `reconciling.py`.
"""

from __future__ import annotations

import unicodedata
from typing import Final

import msgspec


class Slot(msgspec.Struct, frozen=True):
    """A folded subject and attribute, which hold one current value."""

    subject: str
    attribute: str


#: The one name of the person whose memories these are.
USER: Final = "user"


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_USER_NAMES: Final = _words(
    """
    i me myself user speaker self you
    ich mich mir nutzer benutzer nutzerin benutzerin
    je moi utilisateur utilisatrice
    yo usuario usuaria io utente eu usuário
    я пользователь 我 用户 用戶 私 僕 ユーザー 나 사용자 أنا المستخدم ผม ฉัน ผู้ใช้ मैं
    """
)
_OWNERS: Final = _words("my mein meine meinen mon ma mes mi mis mio mia meu minha мой моя моё мои user's users")
_ARTICLES: Final = _words("the a an der die das el la le les los las il lo o os as")

#: Attributes that hold many values at once, so that they name no slot without a value after a colon.
MULTI_VALUED: Final = _words(
    """
    likes interest speaks skill owns pet friend child sibling visited allergy uses knows plays reads watches eats drinks
    wants goal plan event experience member attends studied trait opinion note fact task supports collects
    """
)

#: What each attribute is also called.
_ATTRIBUTE_NAMES: Final = {
    "residence": """
        home|home city|home town|city|town|city of residence|place of residence|current city|current location
        current residence|location|lives in|lives at|live in|living in|living place|resides in|resident of|home location
        lives|where they live|country of residence|residence city|wohnort|resides
        """,
    "address": "home address|street address|postal address|mailing address",
    "employer": """
        works at|works for|work at|company|workplace|place of work|current employer|employed by|organisation
        organization|current company|job company|work place
        """,
    "job title": """
        job|occupation|profession|role|position|works as|work|title|job role|current job|career|job position
        current role|employment
        """,
    "age": "years old|age in years|current age",
    "birthday": "date of birth|birth date|birthdate|born|born on|dob",
    "name": "full name|called|first name|is called|goes by|real name",
    "marital status": "relationship status|married|civil status|relationship",
    "partner": "spouse|husband|wife|boyfriend|girlfriend|fiance|fiancee|married to|dating|significant other",
    "deadline": "due date|due|deadline date|delivery date|submission date|due on|target date",
    "price": "cost|costs|price tag|amount|fee",
    "salary": "income|wage|pay|earnings|annual salary",
    "status": "state|current status|progress",
    "email": "email address|e-mail|mail|mail address|e-mail address",
    "phone number": "phone|telephone|mobile|mobile number|cell phone|telephone number|cell",
    "diet": "dietary preference|eating habit|food preference|dietary restriction|diets",
    "weight": "body weight|weighs",
    "height": "body height|tall",
    "school": "university|college|studies at|attends school|alma mater|student at",
    "major": "field of study|studies|subject of study|degree programme|degree program",
    "native language": "mother tongue|first language",
    "time zone": "timezone|tz",
    "likes": """
        like|love|loves|enjoys|enjoy|prefers|prefer|preference|dislikes|dislike|hates|hate|fan of|fond of|likes to
        is into|preferences|doesn't like|does not like|taste|tastes
        """,
    "interest": "interests|hobby|hobbies|interested in|passion",
    "speaks": "language|languages|spoken language|speaks language",
    "skill": "skills|ability|abilities|can do|good at",
    "owns": "has|possession|possessions|have|own",
    "pet": "pets|has pet",
    "friend": "friends|friend of",
    "child": "children|kid|kids|son|daughter|sons|daughters",
    "sibling": "siblings|brother|sister|brothers|sisters",
    "visited": "travelled to|traveled to|has visited|visits|been to",
    "allergy": "allergies|allergic to|food allergy",
    "goal": "goals|aim|ambition|objective",
    "plan": "plans|plans to|planning",
    "uses": "use|using|tool|tools",
    "favourite": "favorite|fave|preferred",
}


def _names() -> dict[str, str]:
    return {
        name.strip(): attribute
        for attribute, listed in _ATTRIBUTE_NAMES.items()
        for line in listed.splitlines()
        for name in line.split("|")
        if name.strip()
    }


_ATTRIBUTES: Final = _names()


def folded(text: str) -> str:
    """Return the text without case, accents, width and spare spaces, in any script."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(sign for sign in parts if not unicodedata.combining(sign) or _is_letter_mark(sign))
    words = unicodedata.normalize("NFKC", bare).replace("_", " ").replace("’", "'").split()
    return " ".join(word.strip('.,;!?"`()[]') for word in words).strip()


def _is_letter_mark(sign: str) -> bool:
    """Tell whether the mark makes another letter, as outside Latin, Greek and Cyrillic: が is not か."""
    return ord(sign) > 0x036F


def slot_of(subject: str | None, attribute: str | None) -> Slot | None:
    """Return the folded slot, or None where nothing names one value: no subject, no attribute, or many values."""
    if subject is None or attribute is None:
        return None
    about, what = _subject(subject), _attribute(attribute)
    if not about or not what or what in MULTI_VALUED:
        return None
    return Slot(about, what)


def _subject(subject: str) -> str:
    words = [word for word in folded(subject).split() if word not in _ARTICLES] or folded(subject).split()
    if len(words) == 1 and words[0] in _USER_NAMES:
        return USER
    if len(words) > 1 and words[0] in _OWNERS:
        words[0] = "user's"
    return " ".join(words)


def _attribute(attribute: str) -> str:
    relation, colon, value = (part.strip() for part in folded(attribute).partition(":"))
    relation = _relation(relation)
    if not colon:
        return relation
    value = " ".join(word for word in value.split() if word not in _ARTICLES) or value
    return f"{relation}:{value}" if relation and value else relation


def _relation(relation: str) -> str:
    words = [word for word in relation.split() if word not in _ARTICLES]
    name = " ".join(words) or relation
    if name in _ATTRIBUTES:
        return _ATTRIBUTES[name]
    if len(words) > 1 and words[0] in ("favorite", "preferred"):
        words[0] = "favourite"
    if len(words) > 1 and words[0] == "current":
        return _relation(" ".join(words[1:]))
    return " ".join("colour" if word == "color" else word for word in words) or relation
