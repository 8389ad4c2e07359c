"""A newcomer opens the page, says something, and is remembered."""

from __future__ import annotations

from playwright.async_api import expect

from tests.support.browsing import Visit


async def test_what_was_said_is_answered_and_still_there_after_a_reload(visit: Visit) -> None:
    page = await visit.open()
    await page.get_by_role("textbox", name="Message").fill("My cat Miso lives in Bergen.")
    await page.keyboard.press("Enter")
    said = page.get_by_text("My cat Miso lives in Bergen.").first
    await expect(said).to_be_visible()
    await expect(page.get_by_role("button", name="Answer again")).to_be_visible()
    await page.reload()
    await expect(said).to_be_visible()
