/** What the server says when it does not do what it is asked. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly requestId: string | null = null,
  ) {
    super(detail);
    this.name = "Problem";
  }

  /** Whether the same request may work later: the server or the way to it is away, or too busy. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 409 || this.status === 429 || this.status >= 500;
  }
}

export const AWAY = "away";

/** Read the problem document of an answer, whatever came instead of one. */
export async function problemOf(answer: Response): Promise<Problem> {
  const requestId = answer.headers.get("x-request-id");
  try {
    const body: unknown = await answer.json();
    if (typeof body === "object" && body !== null && "code" in body && "detail" in body) {
      return new Problem(answer.status, String(body.code), String(body.detail), requestId);
    }
  } catch {
    // An answer of something between us and the server, such as a proxy, is no problem document.
  }
  return new Problem(answer.status, "http_error", `The server answered with status ${answer.status}.`, requestId);
}

/** Turn whatever a request failed with into a problem; being cancelled is none. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof DOMException && error.name === "AbortError") throw error;
  return new Problem(0, AWAY, "The server cannot be reached.");
}
