"""Secrets for signatures: one for each user and purpose, and always the same one."""

from __future__ import annotations

import msgspec

from recollect.ports.store import Store
from recollect.testing.samples import ALICE, BOB, STRANGER


class SigningConformance:
    """Check what a store promises about secrets for signatures."""

    async def test_a_signing_key_is_long_and_stays_the_same(self, store: Store) -> None:
        key = await store.signing_key(ALICE, "letters")
        assert len(key) >= 32
        other_agent = msgspec.structs.replace(ALICE, agent="guide")
        assert [await store.signing_key(scope, "letters") for scope in (ALICE, other_agent)] == [key, key]

    async def test_each_user_and_purpose_has_a_signing_key_of_its_own(self, store: Store) -> None:
        asked = [(scope, purpose) for scope in (ALICE, BOB, STRANGER) for purpose in ("letters", "parcels")]
        keys = {await store.signing_key(scope, purpose) for scope, purpose in asked}
        assert len(keys) == len(asked)
