import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { objectOf } from "../model/json";
import { Server } from "./server";

interface Asked {
  url: string;
  headers: Record<string, string>;
}

const scope = globalThis as unknown as {
  sessionStorage: Pick<Storage, "getItem" | "setItem">;
  fetch: (url: string, options: { headers: Record<string, string>; signal: AbortSignal })
    => Promise<Response>;
};
let asked: Asked[] = [];
const none = new AbortController().signal;

function answerWith(make: (signal: AbortSignal) => Promise<Response> | Response): void {
  scope.fetch = async (url, { headers, signal }) => {
    asked.push({ url, headers });
    return make(signal);
  };
}

beforeEach(() => {
  const kept = new Map<string, string>();
  scope.sessionStorage = { getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value) };
  asked = [];
});

test("asks its own server, with parameters, and with the token once there is one", async () => {
  answerWith(() => new Response('{"a":1}'));
  const server = new Server();
  const answer = await server.json("series", { query: 'cpu{a="ü&"}' }, none, objectOf);
  assert.deepEqual(answer, { ok: true, value: { a: 1 } });
  server.setToken("a secret");
  await server.json("status", {}, none, objectOf);
  assert.deepEqual(asked, [
    { url: "/api/v1/series?query=cpu%7Ba%3D%22%C3%BC%26%22%7D", headers: {} },
    { url: "/api/v1/status", headers: { Authorization: "Bearer a secret" } }]);
});

test("tells what went wrong by what can be done about it", async () => {
  const failure = async (status: number, body: string): Promise<unknown> => {
    answerWith(() => new Response(body, { status }));
    const answer = await new Server().json("tree", {}, none, objectOf);
    return answer.ok ? null : answer.failure;
  };
  const error = (code: string): string => JSON.stringify({ error: { code, message: "m" } });
  assert.deepEqual(await failure(401, error("unauthorized")), { kind: "token", message: "m" });
  assert.deepEqual(await failure(403, error("forbidden")), { kind: "token", message: "m" });
  assert.deepEqual(await failure(403, error("host_refused")), { kind: "refused", message: "m" });
  assert.deepEqual(await failure(400, error("invalid")), { kind: "refused", message: "m" });
  assert.deepEqual(await failure(422, error("too_large")), { kind: "tooMuch", message: "m" });
  assert.deepEqual(await failure(504, error("too_slow")), { kind: "tooMuch", message: "m" });
  assert.deepEqual(await failure(503, error("unavailable")), { kind: "trouble", message: "m" });
  assert.deepEqual(await failure(502, "<html>a proxy</html>"),
    { kind: "trouble", message: "The server answered with status 502" });
});

test("an answer that is none is trouble, no answer is a server that is away", async () => {
  answerWith(() => new Response("[1]"));
  const odd = await new Server().json("status", {}, none, objectOf);
  assert.equal(odd.ok ? "" : odd.failure.kind, "trouble");
  answerWith(() => Promise.reject(new TypeError("network")));
  const away = await new Server().page("tree", {}, none);
  assert.deepEqual(away, { ok: false, failure: { kind: "away" } });
});

test("a question that is given up ends", async () => {
  answerWith((signal) => new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")));
  }));
  const stop = new AbortController();
  const answer = new Server().json("status", {}, stop.signal, objectOf);
  stop.abort();
  assert.deepEqual(await answer, { ok: false, failure: { kind: "dropped" } });
});

test("page data says by a header that it has no sample", async () => {
  for (const [headers, isEmpty] of [[{ "Vesta-Empty": "true" }, true], [{}, false]] as const) {
    answerWith(() => new Response("VSTP", { headers }));
    const answer = await new Server().page("tree", { by: "service" }, none);
    assert.deepEqual(answer.ok && [answer.value.bytes.length, answer.value.isEmpty], [4, isEmpty]);
  }
  assert.equal(asked[0].url, "/api/v1/tree?by=service&format=page");
});

test("the time is the server's where the clocks differ", async () => {
  const server = new Server();
  const ask = async (aheadMs: number): Promise<number> => {
    const date = new Date(Date.now() + aheadMs).toUTCString();
    answerWith(() => new Response("{}", { headers: { date } }));
    await server.json("status", {}, none, objectOf);
    return server.nowMs() - Date.now();
  };
  assert.ok(Math.abs(await ask(3_600_000) - 3_600_000) < 1_500);
  assert.ok(Math.abs(await ask(0)) < 5, "the way of an answer is no difference");
});
