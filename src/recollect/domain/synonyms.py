"""Forms of words that mean the same: function words that may be left out, inflections, spellings and synonyms.

Data and small rules for `likeness.py`, mostly English; other languages get their articles and a few endings,
and are otherwise compared word by word, which keeps two memories rather than joining what differs.
"""

from __future__ import annotations

from typing import Final

#: Words that two statements may differ in and still say the same.
FUNCTION_WORDS: Final = frozenset(
    word
    for line in (
        "a an the this that these those there here it its is are am was were be been being do does did has have having",
        "had of and or also too very really quite just so then now currently some one by as which who whom whose what",
        "at in on into onto to for with upon while when where their them they his her he she him i me my mine myself",
        "you your we us our user speaker s t re ve ll d m about both someone something however get got getting gets",
        "named called name s' up over around through across along together any",
        "himself herself itself themselves been because other another piece bit colored coloured somebody",
        "der die das den dem des ein eine einen einem einer eines und ist sind bin hat habe auch sehr in im am an zu",
        "zum zur von vom für mit auf bei es er sie ich mein meine seine ihre wir nutzer benutzer",
        "le la les un une des de du l d j c s qu et est sont suis a ai au aux en dans à il elle je mon ma mes",
        "son sa ses très aussi que qui pour avec sur utilisateur",
        "el los las una unos unas y es son soy está en del al su sus mi mis yo se me muy también que por para con",
        "usuario lo gli i uno è sono di del della nel nella a da e ho ha anche molto che io suo sua mio mia utente",
        "o os as um uma é são do da dos das no na nos nas em eu meu minha seu sua muito também com usuário",
        "в на и я у мой моя он она это очень тоже с со к по за от из пользователь",
        "het een en van op ook ik och ett att det som är jag og er på jeg",
        "من في على إلى و هو هي أنا",
    )
    for word in line.split()
)

_IRREGULAR: Final = """
man men|woman women|child children kid kids|person people|foot feet|tooth teeth|mouse mice|goose geese|wife wives
life lives|knife knives|leaf leaves|half halves|wolf wolves|shelf shelves|go goes went gone going|see saw seen seeing
eat ate eaten eating|drink drank drunk|run ran running|swim swam swum swimming|sing sang sung|ring rang rung
begin began begun beginning|come came coming|become became|give gave given giving|take took taken taking
make made making|know knew known|grow grew grown|throw threw thrown|draw drew drawn|fly flew flown flies
write wrote written writing|drive drove driven driving|ride rode ridden riding|speak spoke spoken|break broke broken
choose chose chosen|wear wore worn|tear tore torn|buy bought|bring brought|think thought|teach taught|catch caught
fight fought|sleep slept|keep kept|leave left leaving leaves|feel felt|meet met meeting|read|say said|pay paid|lay laid
tell told|sell sold|hold held|stand stood|understand understood|find found|send sent|spend spent|build built|lose lost
win won winning|sit sat sitting|get got gotten|put putting|cut cutting|hit hitting|let letting|set setting
lie lying lain|die died dying|tie tied tying|have has had having|be is are am was were been being|do does did done
play playing played plays|live lived living lives|use used using|like liked liking|love loved loving|move moved moving
dance danced dancing|slice sliced slicing|smile smiled smiling|ski skied skiing skis|shake shook shaken shaking
strike struck|hang hung|swing swung|dig dug digging|shoot shot shooting|lead led|feed fed|bite bit bitten
fall fell fallen|hide hid hidden|sink sank sunk|spring sprang sprung|steal stole stolen|wake woke woken|blow blew blown
"""

_SYNONYMS: Final = """
colour color|favourite favorite preferred|centre center|theatre theater|grey gray|neighbour neighbor|organise organize
organisation organization|travelling traveling|traveller traveler|jewellery jewelry|programme program|realise realize
licence license|defence defense|behaviour behavior|flavour flavor|honour honor|humour humor|labour labor|tyre tire
mum mom mother mummy mommy|dad father daddy|grandma grandmother granny|grandpa grandfather|kid child|puppy pup
bike bicycle|motorbike motorcycle|plane airplane aeroplane aircraft|tv television|phone telephone|fridge refrigerator
photo photograph picture|ad advertisement|lab laboratory|exam examination|gym gymnasium|math maths mathematics
uni university college|apartment flat|lift elevator|autumn fall|holiday vacation|film movie|shop store|truck lorry
sofa couch|football soccer|trousers pants|sneakers trainers|rubbish garbage trash|pavement sidewalk|biscuit cookie
large big huge|small little tiny|quick fast rapid|quickly fast rapidly|start begin commence|end finish|buy purchase
reside live dwell|job occupation|employ hire|talk speak chat|say state|see watch observe|jump leap hop
run jog sprint|shout yell|cry weep|slice chop cut|mix stir blend|climb scale|fix repair|assist help
child kid youngster|infant baby|lady woman|guy man gentleman|cop policeman|doctor physician|lawyer attorney
sea ocean|road street|forest wood woods|stone rock|rabbit bunny|kitten cat|dog doggy|boat ship|bag sack
present gift|meal food|error mistake|answer reply|happy glad|sad unhappy|angry mad|ill sick|beautiful pretty
rich wealthy|near close nearby|difficult hard|easy simple|silent quiet|noisy loud|wrong incorrect|right correct
empty vacant|crowd group bunch|several many numerous|lots many|kind type sort|elderly old|entire whole
own possess|need require|want wish|choose select pick|obtain get receive|allow permit let|prohibit forbid ban
show display|hide conceal|throw toss hurl|push shove|pull drag|hit strike|carry bring|fall tumble|stroll walk
cook prepare|wash clean|fry deep-fry|peel skin|play perform|sit seat
person human somebody someone|person man|person woman|people crowd
car automobile vehicle|path track trail|rock boulder|step stair|fight battle|glasses spectacles
city town|house home|land ground|garden yard|lawn grass|shore beach coast|photo image|song tune|clothes clothing
scared afraid frightened|engineer developer|meeting appointment|train prepare|usually normally|often frequently
enjoy like love|hate dislike detest|marry wed|wedding marriage|boss manager supervisor|colleague coworker|friend pal
buddy friend|trip journey|illness disease|medicine medication drug|physician doctor
sleepy tired|attempt try|hurt injure|rest relax|gather collect|reply respond answer|mend repair|reach arrive
approximately about around roughly|per each|percent %|dollar $ usd|euro € eur|pound £ gbp
january jan|february feb|march mar|april apr|june jun|july jul|august aug|september sep sept|october oct|november nov
december dec|monday mon|tuesday tue tues|wednesday wed|thursday thu thurs|friday fri|saturday sat|sunday sun
"""


def _rows(listed: str) -> list[list[str]]:
    return [row.split() for line in listed.splitlines() for row in line.split("|") if row.strip()]


_BASE_FORMS: Final = {form: row[0] for row in _rows(_IRREGULAR) for form in row[1:]}
_VOWELS: Final = frozenset("aeiouy")


def stem(word: str) -> str:
    """Return the English base form of a word, or what is common to its forms."""
    base = _BASE_FORMS.get(word) or (_singular(word) if word.isascii() else word)
    return _bare(base) if base.isascii() and len(base) > 3 else base


def _singular(word: str) -> str:
    if len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes", "oes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _bare(word: str) -> str:
    """Return the word without the ending of a participle, a final e and a doubled letter, as its forms share it."""
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and _VOWELS.intersection(rest):
            word = rest
            break
    if word.endswith("ie"):
        word = word[:-2] + "y"
    elif word.endswith("i"):
        word = word[:-1] + "y"
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def _meanings() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, row in enumerate(_rows(_SYNONYMS)):
        for word in row:
            found.setdefault(stem(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


_MEANINGS: Final = _meanings()
_NOTHING: Final[frozenset[int]] = frozenset()

#: Endings of one word in several languages; gender, as in hermano and hermana, is no ending.
_ENDINGS: Final = (
    frozenset(("", "s", "es")),
    frozenset(("e", "t", "st", "en", "te", "ten")),
    frozenset(("o", "e", "es", "en", "emos", "ono", "iamo", "ons", "ez", "ent")),
    frozenset(("у", "ю", "ет", "ёт", "ит", "ем", "им", "ют", "ут", "ат", "ят", "ешь", "ишь", "ть")),
    frozenset(("а", "у", "е", "ы", "ой", "ам", "ами", "ах")),
)


def are_synonyms(one: str, other: str) -> bool:
    """Tell whether two stems are listed as words for the same."""
    return not _MEANINGS.get(one, _NOTHING).isdisjoint(_MEANINGS.get(other, _NOTHING))


def are_forms(one: str, other: str) -> bool:
    """Tell whether two words are one but for an ending, in languages whose base forms nobody listed."""
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    if shared < 4:
        return False
    return any(one[at:] in endings and other[at:] in endings for at in range(shared, 3, -1) for endings in _ENDINGS)


def is_known(word: str) -> bool:
    """Tell whether the word stands in a list here, so that its capital letter makes it no name."""
    return word in FUNCTION_WORDS or stem(word) in _MEANINGS or word in _BASE_FORMS
