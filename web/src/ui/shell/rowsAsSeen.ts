/** The links of the conversations that are rendered, from top to bottom; a virtual list keeps them in another order. */
export function rowsAsSeen(within: ParentNode): HTMLElement[] {
  const top = (one: HTMLElement) => one.getBoundingClientRect().top;
  return [...within.querySelectorAll<HTMLElement>("a[data-conversation]")].sort((one, other) => top(one) - top(other));
}
