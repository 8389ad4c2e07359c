import { asProblem, problemOf } from "./problem";

export interface RequestOptions {
  /** Sent as JSON, unless it is a file. */
  body?: unknown;
  query?: Record<string, string | number | boolean | null | undefined>;
  /** The same key and body again have one effect. */
  key?: string;
  /** Change the thing only if it is still at this version. */
  version?: number;
  signal?: AbortSignal;
  accept?: string;
  headers?: Record<string, string>;
  /** Go on with the request after the page is left. */
  outlives?: boolean;
}

export type Fetch = typeof fetch;

/** Calls of the server; everything that goes over the wire goes through here. */
export class Client {
  constructor(private readonly fetched: Fetch = (...call) => fetch(...call)) {}

  get<T>(path: string, options: RequestOptions = {}): Promise<T> {
    return this.json<T>("GET", path, options);
  }

  post<T>(path: string, body: unknown, options: RequestOptions = {}): Promise<T> {
    return this.json<T>("POST", path, { ...options, body });
  }

  patch<T>(path: string, body: unknown, options: RequestOptions = {}): Promise<T> {
    return this.json<T>("PATCH", path, { ...options, body });
  }

  async delete(path: string, options: RequestOptions = {}): Promise<void> {
    await this.answer("DELETE", path, options);
  }

  /** The whole answer, for streams and downloads; one that is no success throws its problem. */
  async answer(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const headers: Record<string, string> = { Accept: options.accept ?? "application/json" };
    if (options.body !== undefined) headers["Content-Type"] = "application/json";
    Object.assign(headers, options.headers);
    if (options.key !== undefined) headers["Idempotency-Key"] = options.key;
    if (options.version !== undefined) headers["If-Match"] = `"${options.version}"`;
    const init: RequestInit = { method, headers, credentials: "same-origin" };
    if (options.body !== undefined)
      init.body = options.body instanceof Blob ? options.body : JSON.stringify(options.body);
    if (options.outlives) init.keepalive = true;
    if (options.signal) init.signal = options.signal;
    let answer: Response;
    try {
      answer = await this.fetched(withQuery(path, options.query), init);
    } catch (error) {
      throw asProblem(error);
    }
    if (!answer.ok) throw await problemOf(answer);
    return answer;
  }

  private async json<T>(method: string, path: string, options: RequestOptions): Promise<T> {
    const answer = await this.answer(method, path, options);
    try {
      return (await answer.json()) as T;
    } catch (error) {
      throw asProblem(error);
    }
  }
}

function withQuery(path: string, query: RequestOptions["query"]): string {
  const given = Object.entries(query ?? {}).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  if (given.length === 0) return path;
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
