"""Estimate how many tokens a text costs a model, without any model's vocabulary.

The estimate stands for the worst of the usual vocabularies, so that a budget holds whichever model reads the text:
o200k, cl100k, Llama 3, Mistral Tekken, Gemma 3, Qwen 3, DeepSeek 3, GLM 4 and Kimi K2.
Measured on chats, code and 80 languages it is 1.0 to 1.6 times the largest of their counts, and never below 0.9 of it.
Older vocabularies of 32,000 tokens can need more.

Texts joined by a space cost at most 2 more than their sum and no less than the larger.
Joined anywhere, even within a word, they cost at most 20 more than their sum and at most 5 less than the larger.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from typing import Final

#: Common English words: one token each in every vocabulary, and the sign that the words around them are English.
_ENGLISH_WORDS: Final = """
    a able about above absolutely access according account across act action actions active activities actually add
    added addition additional address advice after again against ago agree ahead ai air all allow allowed allows
    almost along already also although always am amazing among amount an and another any anything app application
    apply appreciate approach appropriate april are area areas argument arguments around art article as ask asked
    asking assets at attention august author available avoid away awesome back background bad balance bar base based
    basic be beach beautiful beauty because become been before behind being believe below benefits best better
    between big bit black block blue body book books both box break bring budget build building built business but
    button by call called calling calls came can cannot card care career case cases catch cause center certain
    certainly chance change changed changes character characters check child children choice choose church city
    class classes clear click close club co code collection color come comes coming command common community company
    complete complex concerns connection consider considered contact contain contains content context continue
    control cool copy correct cost could count country couple course court cover crazy create created creating
    culture current currently custom daily dance data date day days deal december decide decided decision deep
    default defined definitely described description design detailed details development did die difference
    different digital directly discuss display do document documents does dog doing don done dont double down dream
    drive due during each early easy eat education effect effective either elements else email empty end energy
    english enjoy enough ensure enter entire entry environment equal error especially estate etc even evening event
    events ever every everyone everything exactly example examples except exception excited exist existing expected
    experience experiences expression extension extra face fact failed false family fan fantastic far fast favorite
    features feedback feel feeling feels felt few field fields figure file files film final finally financial find
    finding fine finished first fit five focus follow followed following food for forget form format forward found
    four frame free friend friends from full fun function functions further future game games gave general get gets
    getting girl give given gives giving glad global go goal goals goes going gonna good got great group groups
    growth guess guy guys had hair half hand handle happen happened happy hard has have having he head health hear
    heard heart help helped helping helps her here hey hi high him his historical history hit hold home hope hour
    hours house how however http huge human i id idea ideas if im image impact implementation important improve in
    include included includes including income incredible indeed index individual industry information initial input
    inside instance instead interest interested interesting internal into involved is issue issues it item items its
    itself job join journey just keep key keys kids kind know known label language large last later law lead leading
    learn learning least leave left legal length less let level library life light like likely limit line lines link
    list little live lives living ll local location log long longer look looking looks lost lot love loved low lower
    luck made main maintain major make makes making man management manager many march mark master match matches
    matter max may maybe me mean means media meet meeting member members memory mental message met method methods
    middle might mind minutes missing mix mode model modern module moment moments money month months more morning
    most move movie movies much multiple music must my myself name named names national natural nature near
    necessary need needed needs negative network never new news next nice night no none normal not note notes
    nothing november now number numbers object objects of off offer office often oh oil ok old on once one ones
    online only open opening operation operations opportunity option options or order original other others
    otherwise our out output outside over overall own page pages pair parents park part particular particularly
    party pass passed password past path pattern pay peace people per perfect performance period person personal
    photo physical pick picture place places plan planning plans play played playing please plus pm point points
    policy political port position positive possible post potential power practice pre prepare present pretty
    previous primary print private probably problem problems process production products professional program
    progress project projects property provide provided provides public put quality question questions quick quite
    raise raised range rather re reach read reading ready real really reason received recent recently record red
    reduce reference registered regular related relationship release remember remove report request required
    research resources response rest result results return returned returns review rich right road role room root
    round rules run running safe said same save saw say schedule school screen search season second section security
    see seeing seems seen select selected self send sense sent september sequence series server service services
    session set sets setting several share shared she short should show shows side sign significant similar simple
    since single site situation size skills sleep small so social some someone something sometimes soon sorry sound
    sounds source space special specific spend sports staff standard star start started starting state statement
    states status stay step steps still stop store stories story stream stress string strong structure studies study
    stuff style subject success successful such summer super support sure system table take taken takes taking talk
    talking target tax team technology tell term terms test text than thank thanks that the their them theme then
    there these they thing things think thinking third this those though thought three through time times tips title
    to today together told tomorrow too took tool tools top total totally tough towards track training travel tree
    tried trip true truly trust try trying turn tv two type types under understand understanding unique united
    university unknown unless until up update us use used user users uses using usually valid value values various
    ve version very via video view visit wait walk wanna want wanted war was watch watching water way ways we wear
    website week weekend weeks welcome well went were west what when where whether which while white who whole whose
    why will win window winter wish with within without women won wonderful word words work worked working works
    world worth would wow write writing written wrong yeah year years yes yesterday yet you young your yourself zero
"""

#: The small words of Spanish, Portuguese, French, German, Italian, Dutch and Indonesian: one token each as well.
_SMALL_WORDS: Final = """
    aan aber ad ada adalah akan al alla als anche anda anni anos ao apa atau au auch auf aus aussi aux avec banyak
    baru bei bem bien bis bisa ce cette che ci com comme como con cuando cui da dal dalam dan dann dans dapat dari
    das dass dat de dei del della delle dem den dengan der des desde di dia dos du durch ed een ein eine einem einen
    einer el ele elle em en entre er era es essere est esta este et eu faire fait foi fue gli ha haben hacer hal
    hasta hat hay het hier hij ho ich ik il ils ini io ist itu ja je juga kann ke la lagi lain las le lebih les lo
    loro los lui ma maar mais mal mas mehr menjadi mereka mesmo mi mir mit mon muy na nach ne nel nella ni nicht
    niet noch non nos nous nur oder oleh om ont ook op orang os ou pada par para parte pas pela pelo pero peut pode
    por porque pour prima puede qu quando que questo qui sa sama satu se sebagai sein sem seperti ser ses seu si sia
    sich sie sin sind sobre solo son sono sont stato su sua suo sur sus tahun tak te telah tem ter tersebut ti tidak
    tiene todo todos tout tra tu um uma un una und une untuk vai van vez von voor vor vous wenn werden wie wir wird
    ya yang yo zijn zu zum zur
"""

#: Words that say little about what a text is about.
COMMON_WORDS: Final = frozenset(f"{_ENGLISH_WORDS} {_SMALL_WORDS}".split())
_COMMON_ASCII: Final = frozenset(word.encode() for word in COMMON_WORDS)

# What letters cost, fitted to the largest count of the vocabularies named above.
# Rare words among common ones are mostly single tokens; words of another language, or of none, are cut in pieces.
_ENGLISH_WORD, _ENGLISH_LETTER = 0.95, 0.06
_OTHER_WORD, _OTHER_LETTER = 0.66, 0.34

# What the shape of ASCII text costs; several vocabularies give each digit a token and another to the space before it.
_DIGIT, _DIGIT_AFTER_SPACE = 1.0, 1.0
_HUMP, _CAPITALS = 1.0, 0.8
_SIGN, _NEXT_SIGN = 1.0, 0.5
_LINE, _INDENT = 0.9, 0.4

#: Longer runs without a space are addresses, keys and encoded data: no words, whatever stands around them.
_LONG_RUN: Final = b"x" * 33
_LONG_ASCII: Final = re.compile("[!-~]{33,}")

#: Each paragraph is priced in its own language.
_PARAGRAPHS: Final = re.compile("\n\n+")
_ASCII_PARAGRAPHS: Final = re.compile(b"\n\n+")

_LATIN_WORD: Final = re.compile("[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]+")

#: From which character on what each character costs; a byte is a token at worst, so no rate exceeds the bytes.
_RATES: Final = (
    (0x0080, 1.5),  # signs
    (0x00C0, 1.0),  # Latin letters beyond ASCII, on top of what their word costs
    (0x0250, 2.0),
    (0x0300, 1.5),  # accents that stand alone
    (0x0370, 1.05),  # Greek
    (0x0400, 2.0),  # letters of other languages than Russian
    (0x0410, 0.55),  # Cyrillic
    (0x0450, 2.0),
    (0x0460, 4.0),  # the sign of a language that is cut to pieces, such as Mongolian
    (0x0530, 2.0),
    (0x0590, 1.15),  # Hebrew
    (0x0600, 0.9),  # Arabic
    (0x0650, 2.0),
    (0x067E, 0.85),  # Persian letters, with the rarer ones between them
    (0x0687, 2.0),
    (0x06A9, 0.85),
    (0x06B0, 2.0),
    (0x06CC, 0.85),
    (0x06CD, 2.0),
    (0x0900, 1.25),  # Devanagari
    (0x0980, 1.5),  # Bengali
    (0x0A00, 1.85),  # the other scripts of India
    (0x0E00, 1.0),  # Thai
    (0x0E80, 3.0),
    (0x10A0, 2.15),  # Georgian
    (0x1100, 3.0),
    (0x1E00, 0.5),  # Latin letters with two marks, mostly Vietnamese
    (0x1F00, 3.0),
    (0x2010, 1.3),  # dashes, quotation marks, dots
    (0x2028, 3.0),
    (0x20A0, 2.0),  # currencies, arrows, operators, boxes
    (0x2600, 3.0),
    (0x3000, 1.0),  # punctuation of Chinese and Japanese
    (0x3040, 0.95),  # kana
    (0x3100, 3.0),
    (0x4E00, 1.45),  # Chinese characters
    (0xA000, 3.0),
    (0xAC00, 1.2),  # Hangul
    (0xD7B0, 3.0),
    (0xFF01, 1.3),  # wide forms
    (0xFF5F, 3.0),
    (0x10000, 4.0),  # emoji
)
_FROM: Final = tuple(first for first, _ in _RATES)
_COST: Final = tuple(cost for _, cost in _RATES)


def _kind(code: int) -> bytes:
    character = chr(code)
    if code > 0x7F or character in " \t\r\v\f":
        return b" "
    if character.isalpha():
        return b"A" if character.isupper() else b"a"
    if character.isdigit():
        return b"0"
    return b"\n" if character == "\n" else b"."


_KINDS: Final = b"".join(map(_kind, range(256)))
_GAPS: Final = bytes(ord(" " if kind in b" \n" else "x") for kind in _KINDS)
_SIGNS_ONLY: Final = bytes(kind if kind == ord(".") else ord(" ") for kind in _KINDS)
_LETTERS_ONLY: Final = bytes(code | 0x20 if kind in b"aA" else ord(" ") for code, kind in enumerate(_KINDS))


#: The estimates of texts that were seen lately, by their hashes: a window is priced again at every turn.
#: It holds no text, so what is erased is not kept here.
_PRICED: Final[dict[int, int]] = {}
_MOST_PRICED: Final = 10_000


def estimate_tokens(text: str) -> int:
    """Return about how many tokens the text has, rather too many than too few."""
    key = hash(text)
    tokens = _PRICED.get(key)
    if tokens is None:
        tokens = _estimated(text)
        if len(_PRICED) >= _MOST_PRICED:
            _PRICED.clear()
        _PRICED[key] = tokens
    return tokens


def _estimated(text: str) -> int:
    if text.isascii():
        data = text.encode()
        parts = _ASCII_PARAGRAPHS.split(data) if b"\n\n" in data else [data]
        return math.ceil(_shape(data) + sum(map(_ascii_words, parts)))
    words = sum(map(_latin_words, _PARAGRAPHS.split(text)))
    return math.ceil(_shape(text.encode("ascii", "ignore")) + words + _other_characters(text))


def _shape(data: bytes) -> float:
    """Price digits, signs, capitals and lines."""
    kinds = data.translate(_KINDS)
    count = kinds.count
    signs = count(b".")
    runs = len(data.translate(_SIGNS_ONLY).split())
    return (
        _DIGIT * count(b"0")
        + _DIGIT_AFTER_SPACE * (count(b" 0") + count(b"\n0"))
        + _HUMP * count(b"aA")
        + _CAPITALS * count(b"AA")
        + _SIGN * runs
        + _NEXT_SIGN * (signs - runs)
        + _LINE * count(b"\n")
        + _INDENT * count(b"  ")
    )


def _ascii_words(data: bytes) -> float:
    if _LONG_RUN not in data.translate(_GAPS):
        words = data.translate(_LETTERS_ONLY).split()
        rare = [word for word in words if word not in _COMMON_ASCII]
        return _price(len(words), len(rare), len(b"".join(rare)))
    runs = data.split()
    short = b" ".join([run for run in runs if len(run) < len(_LONG_RUN)])
    pieces = b" ".join([run for run in runs if len(run) >= len(_LONG_RUN)]).translate(_LETTERS_ONLY).split()
    return _ascii_words(short) + _price(len(pieces), len(pieces), len(b"".join(pieces)))


def _latin_words(text: str) -> float:
    if long := _LONG_ASCII.findall(text):
        return _latin_words(_LONG_ASCII.sub(" ", text)) + _ascii_words(" ".join(long).encode())
    words = _LATIN_WORD.findall(text.lower())
    rare = [word for word in words if word not in COMMON_WORDS]
    return _price(len(words), len(rare), len("".join(rare)))


def _price(words: int, rare: int, letters: int) -> float:
    """Price words as English or as another language, whichever is more: few common words leave only the latter."""
    english = words - rare + _ENGLISH_WORD * rare + _ENGLISH_LETTER * letters
    return max(english, _OTHER_WORD * rare + _OTHER_LETTER * letters)


def _other_characters(text: str) -> float:
    """Price what is not ASCII, character by character."""
    counts = Counter(text)
    return sum(
        count * _COST[bisect_right(_FROM, ord(character)) - 1]
        for character, count in counts.items()
        if character > "\x7f"
    )
