"""What is said and known in the showcase."""

from __future__ import annotations

from typing import Any

from recollect.domain.memory import Origin

#: Days ago, and what was stated then.
MEMORIES: tuple[tuple[float, dict[str, Any]], ...] = (
    (82, {"content": "Lives in Bergen", "subject": "user", "attribute": "residence", "category": "home"}),
    (80, {"content": "Works as a structural engineer at Nordvik", "category": "work", "importance": 0.8}),
    (76, {"content": "Prefers short answers with the reasoning below", "memory_type": "preference", "is_pinned": True}),
    (71, {"content": "Allergic to hazelnuts", "category": "health", "importance": 0.95, "is_pinned": True}),
    (64, {"content": "Ines is the user's sister; she lives in Porto", "memory_type": "entity", "category": "family"}),
    (58, {"content": "Learning Portuguese, 20 minutes each morning", "memory_type": "project", "category": "learning"}),
    (51, {"content": "Chose Postgres over MongoDB for the bridge register", "memory_type": "decision"}),
    (44, {"content": "Bridge register: sensor data of 40 bridges, due in March", "memory_type": "project"}),
    (39, {"content": "Sleeps badly after coffee in the afternoon", "memory_type": "insight", "category": "health"}),
    (33, {"content": "Runs on Tuesdays and Saturdays", "memory_type": "preference", "category": "sport"}),
    (27, {"content": "Miso is the user's cat, four years old", "memory_type": "entity", "category": "home"}),
    (21, {"content": "Travels by train rather than by plane", "memory_type": "preference", "category": "travel"}),
    (
        16,
        {"id": "home-now", "content": "Lives in Oslo", "subject": "user", "attribute": "residence", "category": "home"},
    ),
    (9, {"content": "The tent is a two-person Hilleberg", "category": "travel"}),
    (6, {"content": "Drives no car", "category": "travel", "importance": 0.7}),
    (4, {"content": "Will be in Lofoten from 14 to 21 June with Ines", "memory_type": "project", "category": "travel"}),
    (2, {"content": "Weekly budget for food is 900 kroner", "memory_type": "decision", "category": "home"}),
)

PENDING: tuple[tuple[Origin, str], ...] = (
    ("tool", "The cabin in Henningsvær has room 4 reserved for the user"),
    ("import", "The user's passport expires in October"),
    ("import", "Ines is vegetarian"),
)

#: Days ago, the title, what was said and what was answered.
OLDER: tuple[tuple[float, str, str, str], ...] = (
    (0.02, "Load cases for the footbridge", "Which load cases matter for a footbridge?", "Crowd, wind and a vehicle."),
    (0.03, "A birthday card for Ines", "Help me with a card for Ines.", "Of course. What do you two laugh about?"),
    (3, "Portuguese, every morning", "Quiz me on the past tense.", "Vamos! *Eu falei*, *tu falaste*, …"),
    (1, "Why is the sourdough flat", "My sourdough is flat again.", "Most likely it was proofed too long."),
    (1.2, "Letter to the landlord", "Write to the landlord about the window.", "Here is a friendly first letter."),
    (2.4, "Sensor gaps in the register", "How do I find gaps in a time series?", "Use `lag()` over the timestamps."),
    (5, "Running in the dark", "What do I need to run in the dark?", "A headlamp with 200 lumens and reflectors."),
    (8, "Books about bridges", "Three books about bridges, please.", "Start with *Bridge* by Peter Bishop."),
    (12, "Miso does not eat", "Miso does not eat since yesterday.", "If it lasts a second day, see the vet."),
    (26, "Postgres or MongoDB", "Which database for 40 bridges?", "Postgres, for the joins and the constraints."),
    (45, "Moving to Oslo", "Make a list for the move.", "Eight weeks before: give notice."),
    (60, "Archived: Tax return", "What can I deduct?", "The home office, the union and the commute."),
)

_NOTES = """# About

Asks for reasons, likes tables. Short answers first.

# Ongoing

- Bridge register, due in March
- Portuguese, every morning
- Lofoten in June, with Ines

# How to help

Offer the train before the plane. Never suggest hazelnuts.
"""

#: Days ago, and the notes from then on.
NOTES: tuple[tuple[float, str], ...] = ((30, "# About\n\nAsks for reasons, likes tables.\n"), (4, _NOTES))

SUMMARY = (
    "The user plans a week in Lofoten with Ines in June, without a car. They want to hike, to sleep in a cabin "
    "for four nights and in the tent for three, and to keep it under 9,000 kroner each. The night train to Bodø and "
    "the ferry to Moskenes are agreed; Reinebringen is meant for the clearest day."
)

_DAYS = """Here is a week that works **without a car**. You two travel light, so each day has one hike and one bus.

| Day | Where | What |
|---|---|---|
| Sun 14 | Oslo → Bodø | Night train, 21:50 |
| Mon 15 | Moskenes | Ferry, first night in the cabin |
| Tue 16 | Reine | Reinebringen, if it is clear |
| Wed 17 | Å | Fishing museum, boil cod |

> The ferry takes bicycles for free, in case Ines brings hers.
"""

_BUDGET = """That leaves **1,340 kroner** in the pot. Split by night:

```python
cabin, tent, train = 4 * 1150, 3 * 120, 2 * 1399
total = cabin + tent + train
print(f"{total / 2:.0f} each of 9000")
```

1. The cabin is the largest part, so book it first.
2. Food fits your 900 a week if you cook twice.
3. I left out anything with hazelnuts from the list of snacks.
"""

#: What was said, what was answered, and what was looked up before.
TRIP: tuple[tuple[str, str, str], ...] = (
    ("Ines and I want a week in Lofoten in June. We have no car.", "A good month: it stays light all night.", ""),
    ("How do we get there from Oslo?", "Night train to Bodø, then the ferry to Moskenes.", ""),
    ("We like to hike, and to sleep inside most nights.", "Then four nights in a cabin, three in the tent.", ""),
    ("Not more than 9,000 kroner each.", "That works if you cook. I will keep it under that.", ""),
    ("Which hike is the one not to miss?", "Reinebringen: 1,978 stone steps, and the view of the fjord.", ""),
    ("Put it together as days, please.", _DAYS, "Lofoten dates and what Ines likes"),
    ("And does the money work out?", _BUDGET, ""),
)

SUGGESTIONS: dict[str, Any] = {
    "content": "Something that cooks while you talk. What do you feel like?",
    "suggested_values": ["Fish soup", "Mushroom risotto", "Tacos"],
    "suggested_actions": [{"label": "Plan the shopping", "value": "Make a shopping list for Friday."}],
}
