// The server that this page came from: questions out, answers in, and in words what went wrong.

// What an answer can be besides an answer. `message` is the server's own, for people.
export type Failure =
  | { kind: "away" } // nobody answers
  | { kind: "token"; message: string } // it asks for a token, or the one that was given is no good
  | { kind: "refused"; message: string } // the question is wrong
  | { kind: "tooMuch"; message: string } // it asks for more than the server gives at once
  | { kind: "trouble"; message: string } // asked later it may be answered
  | { kind: "dropped" }; // the page did not want the answer any more

// Page data: docs/formats/page_data.md.
export interface PageAnswer {
  bytes: Uint8Array;
  isEmpty: boolean; // without one sample
}

export type Outcome<T> = { ok: true; value: T } | { ok: false; failure: Failure };

const TOKEN_KEY = "vesta-token";
const LONGEST_MS = 40_000; // the server's own limit is 30 s
const CLOCK_APART_MS = 2000; // less is the way of the answer

type Parameters = Record<string, string>;

export class Server {
  // The server's clock less this one's.
  private aheadMs = 0;

  get hasToken(): boolean {
    return sessionStorage.getItem(TOKEN_KEY) !== null;
  }

  // For this tab, until it is closed.
  setToken(token: string): void {
    sessionStorage.setItem(TOKEN_KEY, token);
  }

  nowMs(): number {
    return Date.now() + this.aheadMs;
  }

  // parse: null = not what the API says.
  async json<T>(
    path: string,
    parameters: Parameters,
    signal: AbortSignal,
    parse: (json: unknown) => T | null,
  ): Promise<Outcome<T>> {
    return this.get(path, parameters, signal, async (response) => parse(await response.json()));
  }

  async page(
    path: string,
    parameters: Parameters,
    signal: AbortSignal,
  ): Promise<Outcome<PageAnswer>> {
    return this.get(path, { ...parameters, format: "page" }, signal, async (response) => ({
      bytes: new Uint8Array(await response.arrayBuffer()),
      isEmpty: response.headers.get("vesta-empty") === "true",
    }));
  }

  private async get<T>(
    path: string,
    parameters: Parameters,
    signal: AbortSignal,
    take: (response: Response) => Promise<T | null>,
  ): Promise<Outcome<T>> {
    const stop = new AbortController();
    const end = (): void => stop.abort();
    const timer = setTimeout(end, LONGEST_MS);
    signal.addEventListener("abort", end);
    try {
      const response = await this.request(path, parameters, stop.signal);
      if (!response.ok) return { ok: false, failure: await failureOf(response) };
      const value = await take(response);
      if (value !== null) return { ok: true, value };
      return { ok: false, failure: { kind: "trouble", message: `The answer to ${path} is not as `
        + "this page knows it: reload the page, the server may be another version" } };
    } catch {
      return { ok: false, failure: { kind: signal.aborted ? "dropped" : "away" } };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }

  private async request(
    path: string, parameters: Parameters, signal: AbortSignal,
  ): Promise<Response> {
    const headers: Record<string, string> = {};
    const token = sessionStorage.getItem(TOKEN_KEY);
    if (token !== null) headers.Authorization = `Bearer ${token}`;
    const query = new URLSearchParams(parameters).toString();
    const response = await fetch(`/api/v1/${path}${query === "" ? "" : `?${query}`}`,
      { headers, signal, cache: "no-store", credentials: "omit" });
    const date = Date.parse(response.headers.get("date") ?? "");
    if (Number.isFinite(date)) {
      const aheadMs = date + 500 - Date.now(); // a date has whole seconds
      this.aheadMs = Math.abs(aheadMs) < CLOCK_APART_MS ? 0 : aheadMs;
    }
    return response;
  }
}

// {"error":{"code":...,"message":...}}; what is none of it (a proxy's page) is told by its status.
async function failureOf(response: Response): Promise<Failure> {
  let message = `The server answered with status ${response.status}`;
  let code = "";
  try {
    const error = ((await response.json()) as { error?: { code?: unknown; message?: unknown } })
      .error;
    if (typeof error?.message === "string") message = error.message;
    if (typeof error?.code === "string") code = error.code;
  } catch {
    // The status must do.
  }
  // 403 "forbidden": the token may do other things only.
  if (response.status === 401 || code === "forbidden") return { kind: "token", message };
  if (response.status === 400 || response.status === 403 || response.status === 404) {
    return { kind: "refused", message };
  }
  if (code === "too_large" || code === "too_slow") return { kind: "tooMuch", message };
  return { kind: "trouble", message };
}
