/** A line of the list of conversations: the name of a group, or one of it. */
export type Line<T> = { kind: "group"; name: string } | { kind: "item"; item: T };

interface Dated {
  id: string;
  is_pinned: boolean;
  last_activity_at: string;
}

const DAY = 24 * 60 * 60 * 1000;

/** Name the day of a time as people do, in the time zone of the reader. */
export function dayName(at: Date, now: Date, locale?: string): string {
  const days = Math.round((startOfDay(now) - startOfDay(at)) / DAY);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return "Last 7 days";
  if (days < 30) return "Last 30 days";
  return new Intl.DateTimeFormat(locale, { month: "long", year: "numeric" }).format(at);
}

/** Put conversations, newest first, under the names of their days; pinned ones come before all days. */
export function groupByDay<T extends Dated>(items: T[], now: Date, locale?: string): Line<T>[] {
  const lines: Line<T>[] = [];
  const pinned = items.filter((one) => one.is_pinned);
  if (pinned.length) {
    lines.push({ kind: "group", name: "Pinned" });
    for (const item of pinned) lines.push({ kind: "item", item });
  }
  let current: string | null = null;
  for (const item of items) {
    if (item.is_pinned) continue;
    const name = dayName(new Date(item.last_activity_at), now, locale);
    if (name !== current) {
      lines.push({ kind: "group", name });
      current = name;
    }
    lines.push({ kind: "item", item });
  }
  return lines;
}

// Noon is the middle of every day, also of one that is 23 or 25 hours long, so rounding to days is exact.
function startOfDay(at: Date): number {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate(), 12).getTime();
}
