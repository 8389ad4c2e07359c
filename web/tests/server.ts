import type { Fetch } from "../src/api/client";

export interface Seen {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

type Answer = Response | Error | ((seen: Seen) => Response | Error | Promise<Response | Error>);

/** A server that answers as it is told, and keeps what it was asked. */
export class PlayedServer {
  readonly seen: Seen[] = [];
  private readonly answers: [RegExp, Answer[]][] = [];

  /** Answer requests like `POST /api/chat` with these, the last one again and again. */
  on(request: RegExp, ...answers: Answer[]): this {
    this.answers.unshift([request, answers]);
    return this;
  }

  readonly fetch: Fetch = async (url, init) => {
    const seen: Seen = {
      method: init?.method ?? "GET",
      url: String(url),
      headers: { ...(init?.headers as Record<string, string>) },
      body: typeof init?.body === "string" ? JSON.parse(init.body) : undefined,
    };
    this.seen.push(seen);
    const found = this.answers.find(([request]) => request.test(`${seen.method} ${seen.url}`));
    if (!found) throw new TypeError(`nobody answers ${seen.method} ${seen.url}`);
    const answers = found[1];
    const next = answers.length > 1 ? answers.shift() : answers[0];
    const answer = typeof next === "function" ? await next(seen) : next;
    if (answer instanceof Error) throw answer;
    return (answer as Response).clone();
  };
}

export const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });
export const problem = (status: number, code: string) =>
  new Response(JSON.stringify({ code, detail: `${code}.`, status }), { status, headers: { "x-request-id": "r-1" } });
export const lost = () => new TypeError("fetch failed");

/** A stream of these events; `cut` breaks the connection after them. */
export function stream(events: [string, unknown][], { from = 1, cut = false, bytes = 0 } = {}): Response {
  const text = events
    .map(([name, data], at) => `id: ${from + at}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
    .join("");
  const all = new TextEncoder().encode(text);
  const step = bytes || all.length || 1;
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent < all.length) {
        controller.enqueue(all.slice(sent, sent + step));
        sent += step;
      } else if (cut) controller.error(new TypeError("network error"));
      else controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
