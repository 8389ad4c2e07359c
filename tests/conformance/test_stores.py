"""Every store keeps every promise of its port, also through the blocking facade."""

from __future__ import annotations

import pytest

from recollect.testing import StoreConformance
from recollect.testing import store as suite
from tests.conformance.conftest import DURABLE


class TestConversations(suite.ConversationConformance): ...


class TestFinding(suite.FindingConformance): ...


class TestMessages(suite.MessageConformance): ...


class TestPaging(suite.PagingConformance): ...


class TestSearch(suite.SearchConformance): ...


class TestTurns(suite.TurnConformance): ...


class TestBranches(suite.BranchConformance): ...


class TestArchive(suite.ArchiveConformance): ...


class TestSummaries(suite.SummaryConformance): ...


class TestWindows(suite.WindowConformance): ...


class TestMemories(suite.MemoryConformance): ...


class TestMemoryLists(suite.MemoryListConformance): ...


class TestMemoryChanges(suite.MemoryChangeConformance): ...


class TestExtractions(suite.ExtractionConformance): ...


class TestPlans(suite.PlanConformance): ...


class TestPassages(suite.PassageConformance): ...


class TestMatches(suite.MatchConformance): ...


class TestVectors(suite.VectorConformance): ...


class TestMemoryRevisions(suite.MemoryRevisionConformance): ...


class TestNotes(suite.NoteConformance): ...


class TestQueue(suite.QueueConformance): ...


class TestClaims(suite.ClaimConformance): ...


class TestRequests(suite.RequestConformance): ...


@pytest.mark.spec("B13")
class TestUsage(suite.UsageConformance): ...


class TestHoldings(suite.HoldingsConformance): ...


class TestKeys(suite.KeyConformance): ...


class TestErasingMessages(suite.EraseMessageConformance): ...


class TestErasingConversations(suite.EraseConversationConformance): ...


class TestErasingMemories(suite.EraseMemoryConformance): ...


class TestErasingVectors(suite.EraseVectorConformance): ...


class TestEraseNotes(suite.EraseNoteConformance): ...


class TestEraseLate(suite.EraseLateConformance): ...


@pytest.mark.spec("R26", "B5")
class TestEraseRepeated(suite.EraseRepeatedConformance): ...


class TestScopes(suite.ScopeConformance): ...


class TestSigning(suite.SigningConformance): ...


class TestPreferences(suite.PreferenceConformance): ...


class TestBadInput(suite.BadInputConformance): ...


@pytest.mark.spec("R24")
class TestHostileText(suite.HostileTextConformance): ...


@pytest.mark.spec("R9", "R10")
class TestParallelMemories(suite.ParallelMemoryConformance): ...


class TestParallelConversations(suite.ParallelConversationConformance): ...


class TestParallelWork(suite.ParallelWorkConformance): ...


class TestTime(suite.TimeConformance): ...


class TestClosing(suite.ClosingConformance): ...


@pytest.mark.parametrize("backend", DURABLE, indirect=True)
class TestDurability(suite.DurabilityConformance): ...


def test_every_part_of_the_suite_is_run() -> None:
    run = {base for name, part in globals().items() if name.startswith("Test") for base in part.__bases__}
    assert run == {*StoreConformance.__bases__, suite.DurabilityConformance}


def test_no_two_parts_of_the_suite_hide_each_other() -> None:
    names = [name for part in StoreConformance.__bases__ for name in vars(part) if name.startswith("test_")]
    assert len(names) == len(set(names))
