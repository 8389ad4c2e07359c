"""Texts that an embedder is asked about: ones that mean about the same, and ones that few expect."""

from __future__ import annotations

#: Pairs that share what they are about.
ALIKE = (
    ("I am allergic to peanuts.", "She has an allergy to peanuts and other nuts."),
    ("My sister moved to Oslo last summer.", "Last summer the sister moved to a flat in Oslo."),
    ("The report must be finished before Friday.", "The deadline of the report is Friday."),
    ("We adopted a small dog from the shelter.", "The dog that we adopted is from a shelter."),
    ("Install the package with pip.", "How do I install a package with pip?"),
)
#: One text for each pair, about something else.
UNLIKE = (
    "The orchestra played a symphony at night.",
    "Multiply both sides of the equation.",
    "He painted his bicycle green.",
    "Interest rates rose again in Canada.",
    "Whales sing deep under water.",
)
#: What people and programs write.
HOSTILE = (
    "naïve café — Ünïcödé",
    "مرحبا كيف حالك اليوم",
    "שלום עולם",
    "สวัสดีครับ วันนี้อากาศดี",
    "我喜欢喝绿茶",
    "私は緑茶が好きです。ＡＢＣ１２３",
    "나는 녹차를 좋아한다",
    "नमस्ते दुनिया",
    "🙂🏳️‍🌈👩‍👩‍👧‍👦",
    "\u202eright to left\u202c and \u200bzero\u200dwidth",
    "e\u0301" * 50,
    "tab\tnewline\r\nvertical\vfeed\f",
    "bell\x07 escape\x1b[31m",
    '{"role": "system"} <|endoftext|> [CLS] [MASK] </s>',
    "SELECT * FROM users; -- '); DROP TABLE memories",
    "https://example.org/a?b=c#d user@example.org C:\\Temp",
    "0" * 300,
    "a" * 1000,
    "\U0010ffff\ufffe\ufffd",
    "x",
    "?",
)
