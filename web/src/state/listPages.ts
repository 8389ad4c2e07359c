import type { ConversationPage, ListedConversation } from "../api/types";

/**
 * Put a newly read first page before the pages that were read earlier.
 *
 * Reading all pages again after every change would cost as much as the list is long; what changed is at the top.
 */
export function withNewTop(pages: ConversationPage[], top: ConversationPage): ConversationPage[] {
  const last = pages.at(-1);
  const oldest = top.items.at(-1);
  if (!last || pages.length < 2 || !oldest || top.next === null) return [top];
  const known = new Set(top.items.map((one) => one.id));
  const below = pages.flatMap((page) => page.items).filter((one) => !known.has(one.id) && isBelow(one, oldest));
  return [top, { items: below, next: last.next, corrupt: last.corrupt }];
}

/** Change one conversation wherever it is listed; null takes it away. */
export function withChanged(
  pages: ConversationPage[],
  id: string,
  change: (one: ListedConversation) => ListedConversation | null,
): ConversationPage[] {
  return pages.map((page) => ({
    ...page,
    items: page.items.flatMap((one) => {
      const kept = one.id === id ? change(one) : one;
      return kept ? [kept] : [];
    }),
  }));
}

/** Put a conversation in its place by its activity; below what was read so far it is found by reading on. */
export function withPlaced(pages: ConversationPage[], one: ListedConversation): ConversationPage[] {
  const without = withChanged(pages, one.id, () => null);
  const at = without.findIndex((page) => page.items.some((other) => isBelow(other, one)));
  if (at < 0 && without.at(-1)?.next !== null) return without;
  return without.map((page, index) => {
    if (index !== (at < 0 ? without.length - 1 : at)) return page;
    const before = page.items.findIndex((other) => isBelow(other, one));
    return { ...page, items: page.items.toSpliced(before < 0 ? page.items.length : before, 0, one) };
  });
}

function isBelow(one: ListedConversation, other: ListedConversation): boolean {
  if (one.last_activity_at !== other.last_activity_at) return one.last_activity_at < other.last_activity_at;
  return one.id < other.id;
}
