import { Problem } from "./problem";

/** One server-sent event. */
export interface ServerEvent {
  id: string | null;
  event: string;
  data: string;
}

/** A stream that is silent for longer is dead, whatever stands between says: the server shows every 15 s that it lives. */
const SILENCE = 40_000;

/** Give the events of a stream as they come; it ends with the stream and throws when the connection is lost. */
export async function* readEvents(body: ReadableStream<Uint8Array>, silence = SILENCE): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let waiting = "";
  try {
    for (;;) {
      const { done, value } = await withinTime(reader.read(), silence);
      if (done) return;
      waiting += decoder.decode(value, { stream: true });
      // A carriage return at the end may be half of a line break.
      const usable = waiting.endsWith("\r") ? waiting.slice(0, -1) : waiting;
      const blocks = usable.replaceAll("\r\n", "\n").replaceAll("\r", "\n").split("\n\n");
      waiting = (blocks.pop() ?? "") + (waiting.endsWith("\r") ? "\r" : "");
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function withinTime<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Problem(0, "silent", "The connection was lost.")), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function parseEvent(block: string): ServerEvent | null {
  const data: string[] = [];
  let id: string | null = null;
  let event = "message";
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") data.push(value);
    else if (field === "event") event = value;
    else if (field === "id") id = value;
  }
  return data.length ? { id, event, data: data.join("\n") } : null;
}
