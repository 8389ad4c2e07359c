"""Updates as people state them, in eight languages: what must be current afterwards, and what must stay untouched.

Each history is what a model gives for a conversation: statements with their slots, oldest first.
Others drive the same table through extraction, a store and recall.
"""

from __future__ import annotations

from typing import NamedTuple


class Statement(NamedTuple):
    """What a person says, and the slot that it speaks of; no slot where subject and attribute are None."""

    content: str
    subject: str | None = None
    attribute: str | None = None


class History(NamedTuple):
    """Statements, oldest first, and which of them are current in the end; all others are stale."""

    language: str
    name: str
    said: tuple[Statement, ...]
    current: tuple[str, ...]

    @property
    def stale(self) -> tuple[str, ...]:
        """Return what was superseded."""
        return tuple(one.content for one in self.said if one.content not in self.current)


def history(language: str, name: str, *said: tuple[str, str | None, str | None], stale: tuple[int, ...]) -> History:
    """Return the history of these statements, of which the ones at these places are stale in the end."""
    statements = tuple(Statement(*one) for one in said)
    current = tuple(one.content for place, one in enumerate(statements) if place not in stale)
    return History(language, name, statements, current)


#: Said about others or without a slot: no update may touch them.
DISTRACTORS: dict[str, tuple[Statement, ...]] = {
    "en": (
        Statement("My brother lives in Bergen", "user's brother", "residence"),
        Statement("Works best in the morning"),
        Statement("Bergen was rainy last year"),
        Statement("Likes pizza", "user", "likes:pizza"),
        Statement("The deadline of project Hermes is May 2", "project hermes", "deadline"),
    ),
    "de": (
        Statement("Mein Bruder wohnt in Hamburg", "user's brother", "residence"),
        Statement("Arbeitet am liebsten morgens"),
        Statement("Mag Pizza", "user", "likes:pizza"),
    ),
    "fr": (
        Statement("Mon frère habite à Lyon", "user's brother", "residence"),
        Statement("Travaille mieux le matin"),
        Statement("Aime la pizza", "user", "likes:pizza"),
    ),
    "es": (
        Statement("Mi hermano vive en Sevilla", "user's brother", "residence"),
        Statement("Trabaja mejor por la mañana"),
        Statement("Le gusta la pizza", "user", "likes:pizza"),
    ),
    "it": (
        Statement("Mio fratello vive a Torino", "user's brother", "residence"),
        Statement("Lavora meglio la mattina"),
        Statement("Gli piace la pizza", "user", "likes:pizza"),
    ),
    "pt": (
        Statement("O meu irmão mora no Porto", "user's brother", "residence"),
        Statement("Trabalha melhor de manhã"),
        Statement("Gosta de pizza", "user", "likes:pizza"),
    ),
    "zh": (
        Statement("我哥哥住在上海", "user's brother", "residence"),
        Statement("早上工作效率最高"),
        Statement("喜欢披萨", "user", "likes:pizza"),
    ),
    "ru": (
        Statement("Мой брат живёт в Казани", "user's brother", "residence"),
        Statement("Лучше всего работает утром"),
        Statement("Любит пиццу", "user", "likes:pizza"),
    ),
}

HISTORIES: tuple[History, ...] = (
    history(
        "en",
        "a move",
        ("I live in Bergen", "user", "residence"),
        ("I moved to Oslo", "user", "home city"),
        stale=(0,),
    ),
    history(
        "en",
        "a move away and back",
        ("Lives in Bergen", "user", "residence"),
        ("Lives in Oslo", "user", "residence"),
        ("Lives in Bergen again", "user", "lives in"),
        stale=(0, 1),
    ),
    history(
        "en",
        "a new job",
        ("Works at Acme as an engineer", "user", "employer"),
        ("Works at Globex as an engineer", "User", "company"),
        stale=(0,),
    ),
    history(
        "en",
        "a promotion",
        ("Is a junior developer", "user", "job title"),
        ("Is a senior developer", "user", "occupation"),
        ("Is no longer a developer, manages the team", "user", "role"),
        stale=(0, 1),
    ),
    history("en", "a birthday", ("I am 33", "user", "age"), ("I am 34 now", "user", "age"), stale=(0,)),
    history(
        "en",
        "a price",
        ("The rent is $1,200 a month", "user's flat", "rent"),
        ("The rent is $1,350 a month", "my flat", "rent"),
        stale=(0,),
    ),
    history(
        "en",
        "a deadline that moved",
        ("The deadline of Apollo is March 15", "project apollo", "deadline"),
        ("The deadline of Apollo is March 16", "Project Apollo", "due date"),
        stale=(0,),
    ),
    history(
        "en",
        "a taste that changed",
        ("Likes sushi", "user", "likes:sushi"),
        ("Likes ramen", "user", "likes:ramen"),
        ("Does not like sushi any more", "user", "dislikes:sushi"),
        stale=(0,),
    ),
    history(
        "en",
        "a divorce",
        ("Is married to Sam", "user", "marital status"),
        ("Is divorced", "user", "relationship status"),
        stale=(0,),
    ),
    history(
        "en",
        "a diet",
        ("Is a vegetarian", "user", "diet"),
        ("Is not a vegetarian", "user", "dietary preference"),
        stale=(0,),
    ),
    history(
        "en",
        "a new partner",
        ("Her sister is dating Tom", "user's sister", "boyfriend"),
        ("Her sister is dating Ben", "user's sister", "partner"),
        stale=(0,),
    ),
    history(
        "de",
        "ein Umzug",
        ("Ich wohne in Hamburg", "ich", "residence"),
        ("Ich bin nach Köln gezogen", "user", "Wohnort"),
        stale=(0,),
    ),
    history(
        "de",
        "eine neue Stelle",
        ("Arbeitet bei Siemens", "user", "employer"),
        ("Arbeitet bei Bosch", "user", "works at"),
        stale=(0,),
    ),
    history(
        "de", "ein Geburtstag", ("Ist 40 Jahre alt", "user", "age"), ("Ist 41 Jahre alt", "user", "age"), stale=(0,)
    ),
    history(
        "de",
        "ein Geschmack",
        ("Mag Kaffee", "user", "likes:kaffee"),
        ("Mag keinen Kaffee", "Nutzer", "likes:Kaffee"),
        stale=(0,),
    ),
    history(
        "de",
        "eine Frist",
        ("Die Abgabe ist am 3. Mai", "abschlussarbeit", "deadline"),
        ("Die Abgabe ist am 13. Mai", "Abschlussarbeit", "due date"),
        stale=(0,),
    ),
    history(
        "fr",
        "un déménagement",
        ("J'habite à Lyon", "user", "residence"),
        ("J'ai déménagé à Nantes", "utilisateur", "city"),
        stale=(0,),
    ),
    history(
        "fr",
        "un nouvel emploi",
        ("Travaille chez Renault", "user", "employer"),
        ("Ne travaille plus chez Renault", "user", "employer"),
        ("Travaille chez Airbus", "user", "employer"),
        stale=(0, 1),
    ),
    history(
        "fr",
        "un goût",
        ("Aime le café", "user", "likes:café"),
        ("N'aime pas le café", "user", "likes:cafe"),
        stale=(0,),
    ),
    history(
        "fr",
        "un prix",
        ("Le billet coûte 40 €", "billet", "price"),
        ("Le billet coûte 45 €", "Billet", "cost"),
        stale=(0,),
    ),
    history(
        "es",
        "una mudanza",
        ("Vivo en Sevilla", "yo", "residence"),
        ("Me mudé a Bilbao", "user", "residence"),
        stale=(0,),
    ),
    history(
        "es",
        "un trabajo",
        ("Trabaja en Telefónica", "user", "employer"),
        ("Trabaja en Iberdrola", "usuario", "company"),
        stale=(0,),
    ),
    history("es", "una edad", ("Tiene 29 años", "user", "age"), ("Tiene 30 años", "user", "age"), stale=(0,)),
    history(
        "es",
        "un gusto",
        ("Le gusta el té", "user", "likes:té"),
        ("No le gusta el té", "user", "dislikes:té"),
        stale=(0,),
    ),
    history(
        "it",
        "un trasloco",
        ("Vivo a Torino", "io", "residence"),
        ("Mi sono trasferito a Roma", "user", "residence"),
        stale=(0,),
    ),
    history(
        "it",
        "una scadenza",
        ("La scadenza è il 10 giugno", "tesi", "deadline"),
        ("La scadenza è il 20 giugno", "tesi", "deadline"),
        stale=(0,),
    ),
    history(
        "it",
        "una relazione",
        ("È fidanzato con Giulia", "user", "marital status"),
        ("È sposato con Giulia", "user", "marital status"),
        stale=(0,),
    ),
    history(
        "pt",
        "uma mudança",
        ("Moro no Porto", "eu", "residence"),
        ("Mudei-me para Lisboa", "user", "residence"),
        stale=(0,),
    ),
    history(
        "pt",
        "um gosto",
        ("Gosta de futebol", "user", "likes:futebol"),
        ("Não gosta de futebol", "usuário", "likes:futebol"),
        stale=(0,),
    ),
    history("zh", "搬家", ("我住在北京", "我", "residence"), ("我搬到了深圳", "用户", "residence"), stale=(0,)),
    history("zh", "换工作", ("在腾讯工作", "user", "employer"), ("在华为工作", "user", "employer"), stale=(0,)),
    history("zh", "年龄", ("今年三十岁", "user", "age"), ("今年三十一岁", "user", "age"), stale=(0,)),
    history("zh", "口味", ("喜欢喝茶", "user", "likes:茶"), ("不喜欢喝茶", "user", "likes:茶"), stale=(0,)),
    history(
        "zh",
        "截止日期",
        ("报告的截止日期是3月15日", "报告", "deadline"),
        ("报告的截止日期是3月16日", "报告", "deadline"),
        stale=(0,),
    ),
    history(
        "ru", "переезд", ("Я живу в Казани", "я", "residence"), ("Я переехал в Москву", "user", "city"), stale=(0,)
    ),
    history(
        "ru",
        "работа",
        ("Работает в Яндексе", "user", "employer"),
        ("Больше не работает в Яндексе", "пользователь", "employer"),
        stale=(0,),
    ),
    history("ru", "возраст", ("Мне 25 лет", "user", "age"), ("Мне 26 лет", "user", "age"), stale=(0,)),
    history(
        "ru",
        "вкус",
        ("Любит кофе", "user", "likes:кофе"),
        ("Не любит кофе", "user", "likes:кофе"),
        stale=(0,),
    ),
)
