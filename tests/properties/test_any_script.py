"""Search and deduplication work in any script, and alike in every store."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator

import pytest

from recollect.domain.page import SearchQuery
from recollect.ports.store import Store
from recollect.storage.inmemory import InMemoryStore
from recollect.storage.postgres import PostgresDriver
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.testing.samples import ALICE, append, ids_of, memory, message

#: A statement, a word of it, and another statement that differs from it in one word, by language.
SAYINGS = {
    "english": ("I drink tea every morning", "TEA", "I drink water every morning"),
    "german": ("Ich trinke jeden Morgen süßen Tee", "SÜSSEN", "Ich trinke jeden Abend süßen Tee"),
    "french": ("Je préfère le thé glacé", "prefere", "Je préfère le café glacé"),
    "vietnamese": ("Tôi thích uống trà", "thích", "Tôi thích uống nước"),
    "turkish": ("Her sabah çay içerim", "çay", "Her sabah kahve içerim"),
    "greek": ("Πίνω τσάι κάθε πρωί", "ΤΣΑΙ", "Πίνω νερό κάθε πρωί"),
    "russian": ("Я люблю зелёный чай", "зеленый", "Я люблю чёрный чай"),
    "ukrainian": ("Я п'ю чай щоранку", "щоранку", "Я п'ю воду щоранку"),
    "armenian": ("Ես սիրում եմ թեյ", "թեյ", "Ես սիրում եմ սուրճ"),
    "georgian": ("მე მიყვარს ჩაი", "ჩაი", "მე მიყვარს ყავა"),
    "hebrew": ("אני שותה תה כל בוקר", "שותה", "אני שותה מים כל בוקר"),
    "arabic": ("أشرب الشاي كل صباح", "الشاي", "أشرب الماء كل صباح"),
    "persian": ("من هر روز چای می‌خورم", "چای", "من هر روز آب می‌خورم"),
    "urdu": ("میں ہر صبح چائے پیتا ہوں", "چائے", "میں ہر صبح پانی پیتا ہوں"),
    "hindi": ("मैं हर सुबह चाय पीता हूँ", "चाय", "मैं हर सुबह पानी पीता हूँ"),
    "bengali": ("আমি প্রতিদিন চা খাই", "প্রতিদিন", "আমি প্রতিদিন জল খাই"),
    "tamil": ("நான் தினமும் தேநீர் குடிக்கிறேன்", "தேநீர்", "நான் தினமும் தண்ணீர் குடிக்கிறேன்"),
    "sinhala": ("මම හැමදාම තේ බොනවා", "හැමදාම", "මම හැමදාම වතුර බොනවා"),
    "thai": ("ฉันดื่มชาทุกเช้า", "ดื่มชา", "ฉันดื่มน้ำทุกเช้า"),
    "lao": ("ຂ້ອຍດື່ມຊາທຸກເຊົ້າ", "ດື່ມຊາ", "ຂ້ອຍດື່ມນ້ຳທຸກເຊົ້າ"),
    "khmer": ("ខ្ញុំផឹកតែរាល់ព្រឹក", "ផឹកតែ", "ខ្ញុំផឹកទឹករាល់ព្រឹក"),
    "burmese": ("ကျွန်တော် မနက်တိုင်း လက်ဖက်ရည် သောက်တယ်", "လက်ဖက်ရည်", "ကျွန်တော် မနက်တိုင်း ရေ သောက်တယ်"),
    "tibetan": ("ང་ཇ་འཐུང་གི་ཡོད", "འཐུང", "ང་ཆུ་འཐུང་གི་ཡོད"),
    "chinese": ("我每天早上喝茶", "茶", "我每天早上喝水"),
    "japanese": ("毎朝お茶を飲みます", "お茶", "毎朝お水を飲みます"),
    "korean": ("저는 매일 아침 차를 마셔요", "아침", "저는 매일 저녁 차를 마셔요"),
    "amharic": ("በየቀኑ ሻይ እጠጣለሁ", "ሻይ", "በየቀኑ ውሃ እጠጣለሁ"),
    "cherokee": ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", "ᎦᏬᏂᎯᏍᏗ", "ᏣᎳᎩ ᎠᏰᎵ"),
    "ancient": ("𐎠𐎡𐎢 𐎣𐎤𐎥", "𐎣𐎤𐎥", "𐎠𐎡𐎢 𐎦𐎧𐎨"),
    "code": ("set user_id and C++ flags", "user_id", "set user_id and C flags"),
    "emoji": ("likes 🍕 most", "likes", "likes 🍣 most"),
}


@pytest.fixture(params=["inmemory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    opened: Store
    if request.param == "inmemory":
        opened = InMemoryStore()
    elif request.param == "sqlite":
        opened = SqlStore(await SqliteDriver.open(":memory:"))
    else:
        opened = SqlStore(await PostgresDriver.open(request.getfixturevalue("postgres_url")))
    yield opened
    await opened.close()


@pytest.mark.spec("B11")
async def test_a_word_of_any_script_finds_its_message_first(store: Store) -> None:
    for language, (said, _, _) in SAYINGS.items():
        await store.append(ALICE, append("c1", message(language, said)))
    for language, (_, word, _) in SAYINGS.items():
        for form in ("NFC", "NFD"):
            hits = await store.search_messages(ALICE, SearchQuery(text=unicodedata.normalize(form, word)))
            assert hits[0].similarity == 1
            assert language in ids_of(hit.message for hit in hits if hit.similarity == 1)


@pytest.mark.spec("B11")
async def test_a_statement_of_any_script_is_kept_once_and_not_mistaken_for_another(store: Store) -> None:
    for language, (said, _, other) in SAYINGS.items():
        await store.add_memories(ALICE, (memory(language, said),))
        again = [said.upper(), f"  {said}. ", f"“{said}!”", unicodedata.normalize("NFD", said), said.replace(" ", "\n")]
        saved = await store.add_memories(ALICE, tuple(memory(f"again{at}", text) for at, text in enumerate(again)))
        assert ids_of(saved.duplicates) == [language] * len(again)
        saved = await store.add_memories(ALICE, (memory(f"not {language}", other),))
        assert ids_of(saved.created) == [f"not {language}"]
