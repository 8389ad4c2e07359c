"""The token estimate holds for every usual vocabulary, in any language, and is cheap."""

from __future__ import annotations

import math
import timeit
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.tokens import estimate_tokens


class Sample(NamedTuple):
    """A text with the largest of its counts in nine vocabularies, and with its count in o200k."""

    text: str
    largest: int
    o200k: int


#: Counted with o200k, cl100k, Llama 3, Mistral Tekken, Gemma 3, Qwen 3, DeepSeek 3, GLM 4 and Kimi K2.
SAMPLES = {
    "english": Sample(
        "We met by chance at the station last winter. She told me that her brother had moved to the "
        "coast, that he had bought an old boat there, and that he wanted to sail around the islands "
        "before he turned forty. I promised to visit him in May, if the weather allows it.",
        59,
        59,
    ),
    "short chat": Sample(
        "hey, are you free tonight? I got two tickets for the show, it starts at 8. let me know asap :)", 27, 26
    ),
    "technical english": Sample(
        "The scheduler retries a failed job with exponential backoff and jitter; after the last attempt "
        "it becomes a dead letter. Connections are pooled, statements are prepared once, and each "
        "transaction holds a row lock until it commits.",
        46,
        43,
    ),
    "spanish": Sample(
        "Ayer por la tarde fuimos al mercado a comprar fruta y pescado para la cena. Mi abuela dice que "
        "los tomates de este año tienen menos sabor, pero a mí me parecieron muy buenos. Mañana queremos "
        "preparar una paella con los vecinos.",
        69,
        53,
    ),
    "german": Sample(
        "Gestern haben wir den ganzen Nachmittag im Garten gearbeitet und die Kirschbäume geschnitten. "
        "Meine Schwester möchte nächste Woche eine Geburtstagsfeier veranstalten, aber die "
        "Wettervorhersage verspricht nichts Gutes.",
        65,
        44,
    ),
    "french": Sample(
        "Nous avons passé la soirée à discuter de notre prochain voyage. Mon frère préfère la montagne, "
        "ma sœur voudrait découvrir les îles grecques, et moi, je serais déjà contente de dormir dix "
        "heures par nuit.",
        69,
        43,
    ),
    "polish": Sample(
        "Wczoraj wieczorem długo rozmawialiśmy o przeprowadzce do Wrocławia. Mieszkanie jest niewielkie, "
        "ale jasne i ciche, a do pracy można dojechać rowerem w piętnaście minut.",
        71,
        55,
    ),
    "finnish": Sample(
        "Eilen kävimme pitkästä aikaa järven rannalla saunomassa. Ystäväni kertoi aloittavansa syksyllä "
        "opinnot yliopistossa ja etsivänsä edullista asuntoa keskustan läheltä.",
        69,
        51,
    ),
    "turkish": Sample(
        "Dün akşam arkadaşlarımla birlikte sahilde uzun bir yürüyüş yaptık. Kardeşim önümüzdeki yıl "
        "üniversiteyi bitirip yurt dışında çalışmak istediğini söyledi.",
        68,
        41,
    ),
    "vietnamese": Sample(
        "Hôm qua tôi cùng gia đình đi chợ mua rau và cá để nấu bữa tối. Em gái tôi nói rằng tuần sau nó "
        "sẽ chuyển đến Đà Nẵng để làm việc cho một công ty nhỏ.",
        91,
        46,
    ),
    "russian": Sample(
        "Вчера вечером мы долго гуляли по набережной и говорили о будущем. Мой брат хочет переехать в "
        "другой город, потому что там ему предложили хорошую работу.",
        70,
        37,
    ),
    "ukrainian": Sample(
        "Учора ввечері ми довго гуляли набережною і говорили про майбутнє. Мій брат хоче переїхати до "
        "іншого міста, бо там йому запропонували цікаву роботу.",
        88,
        50,
    ),
    "greek": Sample(
        "Χθες το βράδυ περπατήσαμε για ώρα δίπλα στη θάλασσα και μιλήσαμε για το μέλλον. Ο αδελφός μου "
        "θέλει να μετακομίσει σε άλλη πόλη.",
        110,
        50,
    ),
    "hebrew": Sample(
        "אתמול בערב טיילנו זמן רב לאורך החוף ודיברנו על העתיד. אחי רוצה לעבור לעיר אחרת כי הציעו לו שם עבודה טובה.",
        98,
        37,
    ),
    "arabic": Sample(
        "مشينا مساء أمس طويلا على شاطئ البحر وتحدثنا عن المستقبل. يريد أخي أن ينتقل إلى مدينة أخرى لأنهم "
        "عرضوا عليه هناك عملا جيدا.",
        92,
        38,
    ),
    "hindi": Sample(
        "कल शाम हम देर तक नदी के किनारे टहलते रहे और भविष्य के बारे में बात करते रहे। मेरा भाई दूसरे शहर "
        "जाना चाहता है क्योंकि वहाँ उसे अच्छी नौकरी मिली है।",
        145,
        37,
    ),
    "bengali": Sample(
        "গতকাল সন্ধ্যায় আমরা অনেকক্ষণ নদীর ধারে হাঁটলাম আর ভবিষ্যৎ নিয়ে কথা বললাম। আমার ভাই অন্য শহরে চলে যেতে চায়।",
        134,
        35,
    ),
    "thai": Sample(
        "เมื่อวานตอนเย็นเราเดินเล่นริมแม่น้ำอยู่นานและคุยกันเรื่องอนาคต น้องชายของฉันอยากย้ายไปอยู่เมืองอื่นเพราะที่นั่นมีคนเสนองานดีๆ ให้เขา",
        124,
        56,
    ),
    "chinese": Sample(
        "昨天晚上我们沿着河边散步了很久，聊了聊未来的打算。我弟弟想搬到另一个城市去，因为那里有人给他介绍了一份不错的工作。",
        74,
        42,
    ),
    "traditional chinese": Sample(
        "昨天晚上我們沿著河邊散步了很久，聊了聊未來的打算。我弟弟想搬到另一個城市去，因為那裡有人給他介紹了一份不錯的工作。",
        85,
        49,
    ),
    "japanese": Sample(
        "昨日の夕方、私たちは川沿いを長い間散歩しながら将来について話しました。弟は別の町に引っ越したいと言っています。そこで良い仕事を紹介されたからです。",
        77,
        50,
    ),
    "korean": Sample(
        "어제 저녁에 우리는 강가를 오랫동안 산책하면서 미래에 대해 이야기했습니다. "
        "동생은 좋은 일자리를 제안받아서 다른 도시로 이사하고 싶어 합니다.",
        78,
        42,
    ),
    "emoji": Sample("happy birthday!! 🎉🎂🥳 see you at the party 🕺💃 love you all ❤️❤️ 👨‍👩‍👧‍👦", 60, 35),
    "python": Sample(
        "def moving_average(values: list[float], size: int = 3) -> list[float]:\n    if size < 1:\n        "
        'raise ValueError(f"size must be positive, not {size}")\n    total = sum(values[:size])\n    '
        "result = [total / size]\n    for index in range(size, len(values)):\n        total += "
        "values[index] - values[index - size]\n        result.append(total / size)\n    return result\n",
        109,
        92,
    ),
    "javascript": Sample(
        "export async function loadUser(userId, { signal } = {}) {\n  const response = await "
        "fetch(`/api/users/${userId}`, { signal });\n  if (!response.ok) {\n    throw new Error(`HTTP "
        "${response.status}`);\n  }\n  return response.json();\n}\n",
        65,
        55,
    ),
    "json": Sample(
        '{"id": 4711, "name": "North Harbour", "open": true, "rating": 4.25, "tags": ["boat", "rental"], '
        '"updatedAt": "2024-11-05T09:30:00Z", "owner": null}',
        71,
        61,
    ),
    "url": Sample(
        "https://shop.example.com/catalogue/garden-tools/pruning-saw?ref=newsletter_2024&variant=8814&utm"
        "_campaign=autumn#reviews",
        43,
        34,
    ),
    "base64": Sample(
        "UmVjb2xsZWN0IGtlZXBzIGV2ZXJ5IGNvbnZlcnNhdGlvbiBhbmQgZ2l2ZXMgaXQgYmFjaw+q8Zt3LkX1mVw0hP7sYdTzR2uB"
        "nJ9aCfGe5oKiQ4vWxE6yHjMlN/rSg==",
        107,
        93,
    ),
    "identifier": Sample(
        "3f0c9a4e-7b21-4d58-9e6f-a1c2d3e4f506 sha256:9b74c9897bac770ffc029102a200c5de8f1e6b2d7a40315ee0a1c4f9d27b6683",
        100,
        75,
    ),
    "table": Sample(
        "| month | sold | left |\n|-------|-----:|-----:|\n| May   |  128 |   72 |\n| June  |  140 |   31 |\n"
        "| July  |   97 |    0 |\n",
        60,
        52,
    ),
    "english with a key": Sample(
        "Here is the key that you asked for, please do not share it with anyone else: "
        "sk-Zx81mQe7LrT0vYb2Nc9PdKs4Hf6JgWuA3iXoRtEq5yBnMzCl and it is valid until Friday night.",
        73,
        65,
    ),
}
#: Where the vocabularies agree, the estimate must be close.
PROSE = ("english", "short chat", "spanish", "german", "french", "polish", "finnish", "python", "table", "base64")


@pytest.mark.parametrize("name", SAMPLES)
def test_the_estimate_is_hardly_ever_below_the_largest_count(name: str) -> None:
    sample = SAMPLES[name]
    assert estimate_tokens(sample.text) >= 0.95 * sample.largest
    assert estimate_tokens(sample.text) >= sample.o200k


@pytest.mark.parametrize("name", PROSE)
def test_the_estimate_is_close_to_the_largest_count_where_vocabularies_agree(name: str) -> None:
    sample = SAMPLES[name]
    assert estimate_tokens(sample.text) <= 1.25 * sample.largest


def test_the_estimate_is_much_better_than_a_quarter_of_the_characters() -> None:
    def error(estimates: dict[str, float]) -> float:
        return sum(abs(math.log(estimates[name] / SAMPLES[name].largest)) for name in SAMPLES) / len(SAMPLES)

    ours: dict[str, float] = {name: estimate_tokens(sample.text) for name, sample in SAMPLES.items()}
    quarter = {name: len(sample.text) / 4 for name, sample in SAMPLES.items()}
    assert 5 * error(ours) < error(quarter)


def test_nothing_costs_nothing_and_anything_costs_something() -> None:
    assert estimate_tokens("") == 0
    for text in ("a", "7", ".", "é", "你", "🎉", "\n", "aaa", "don't"):
        assert estimate_tokens(text) >= 1


def test_a_secret_in_a_sentence_is_priced_as_what_it_is() -> None:
    secret = SAMPLES["base64"].text
    said = f"{SAMPLES['english'].text} {secret}"
    assert estimate_tokens(said) >= estimate_tokens(SAMPLES["english"].text) + 0.95 * estimate_tokens(secret)
    french = f"{SAMPLES['french'].text} {secret}"
    assert estimate_tokens(french) >= estimate_tokens(SAMPLES["french"].text) + 0.95 * estimate_tokens(secret)


def test_each_paragraph_is_priced_in_its_own_language() -> None:
    english, finnish = SAMPLES["english"].text * 3, SAMPLES["finnish"].text * 3
    alone = estimate_tokens(english) + estimate_tokens(finnish)
    assert abs(estimate_tokens(f"{english}\n\n{finnish}") - alone) <= 3


words = st.sampled_from(
    ("a", "the", "and", "naive", "größer", "ПРИВЕТ", "你好", "Zx81mQ", "camelCase", "don't", "3.14", "--", "é", "👍")
)
gaps = st.sampled_from(("", " ", "\n", "\n\n", "=1;\n\n", "```py\n"))
texts = st.one_of(st.text(max_size=60), st.lists(st.one_of(words, gaps), max_size=40).map("".join))


@given(texts, texts)
def test_texts_joined_by_a_space_cost_about_their_sum_and_no_less_than_the_larger(one: str, two: str) -> None:
    apart = estimate_tokens(one), estimate_tokens(two)
    assert max(apart) <= estimate_tokens(f"{one} {two}") <= sum(apart) + 2


@given(texts, texts)
def test_texts_joined_anywhere_cost_not_much_more_or_less(one: str, two: str) -> None:
    apart = estimate_tokens(one), estimate_tokens(two)
    assert max(apart) - 5 <= estimate_tokens(one + two) <= sum(apart) + 20


@given(st.text())
def test_any_text_has_an_estimate_that_its_bytes_bound(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    assert 0 <= estimate_tokens(text) <= 2 * size + 1


def test_english_takes_a_few_microseconds() -> None:
    text = SAMPLES["english"].text * 40
    seconds = min(timeit.repeat(lambda: estimate_tokens(text), number=5, repeat=20)) / 5
    # About 2 µs for 100 characters here; the rest is room for a slow and busy machine.
    assert seconds / len(text) * 100 < 20e-6
