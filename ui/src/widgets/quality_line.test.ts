import assert from "node:assert/strict";
import { test } from "node:test";
import { qualityParts, samplesText } from "./quality_line";
import { agentsOf, qualityOf, statusOf } from "../model/quality";

const NOW = 1_790_000_000_000;

function agent(name: string, ageMs: number, book: object | null): object {
  return { agent: name, boot: "b", version: "1", first_seen_unix_ms: 0,
    last_seen_unix_ms: NOW - ageMs, clock_ahead_ms: null, rows: {}, book };
}

const BOOK = {
  time_unix_ms: 0, duration_ns: 0,
  stages: [
    { name: "kernel", received: 1100, excluded: { idle: 100 }, kept: 990,
      dropped: { ring_full: 10, other: 0 } },
    { name: "agent", received: 990, excluded: {}, kept: 985, dropped: { memory: 5 } },
    { name: "spool", received: 985, excluded: {}, kept: 970, dropped: { ring_full: 15 } },
  ],
  incomplete: { read_fault: 40, depth: 10 },
  details: {},
};

test("adds up what all books lost, and by what", () => {
  const agents = agentsOf({ agents: [agent("a", 1_000, BOOK), agent("b", 2_000, BOOK)] });
  assert.ok(agents !== null);
  const quality = qualityOf(agents, NOW);
  assert.deepEqual([quality.heard, quality.silent, quality.others], [2, 0, false]);
  assert.deepEqual([quality.taken, quality.lost, quality.incomplete, quality.kept],
    [2000, 60, 100, 1970]);
  assert.deepEqual(quality.lostBy, [["ring_full", 50], ["memory", 10]]);
});

test("tells agents that fell silent from those that speak, and from other senders", () => {
  const agents = agentsOf({ agents: [agent("a", 59_000, null), agent("b", 61_000, null),
    agent("c", 300_000, null), agent("", 1, null)] });
  const quality = qualityOf(agents ?? [], NOW);
  assert.deepEqual([quality.heard, quality.silent, quality.silentMs, quality.others],
    [1, 2, 300_000, true]);
  assert.deepEqual(qualityParts(quality).map((part) => [part.text, part.isBad]),
    [["1 agent heard", false], ["2 agents silent for 5 min", true]]);
  assert.deepEqual(qualityParts(qualityOf([], NOW)).map((part) => part.text), ["no agent heard"]);
});

test("says where agents sample less than asked, are paused, or ended", () => {
  const book = (nowMillihertz: number, more: object = {}): object => ({ ...BOOK, details: {
    sampling_millihertz_asked: 19_000, sampling_millihertz_now: nowMillihertz, ...more } });
  const told = (...books: [number, object][]): [string, boolean][] => qualityParts(qualityOf(
    agentsOf({ agents: books.map(([age, one], at) => agent(`a${at}`, age, one)) }) ?? [], NOW))
    .map((part): [string, boolean] => [part.text, part.isBad])
    .filter(([text]) => !/lost|stacks/.test(text));
  assert.deepEqual(told([0, book(19_000)]), [["1 agent heard", false]]);
  assert.deepEqual(told([0, book(1187)]), [["1 agent heard", false],
    ["sampled at 1.2 of 19 Hz: the profiler's CPU limit", false]]);
  assert.deepEqual(told([0, book(0)])[1],
    ["not sampled for a while: the profiler's CPU limit", false]);
  assert.deepEqual(told([0, book(19_000)], [0, book(9500)])[1],
    ["1 of 2 sampled at 9.5 of 19 Hz: the profiler's CPU limit", false]);
  assert.deepEqual(told([0, book(1187)], [0, book(9500)], [0, book(4750)])[1],
    ["3 of 3 slowed, one sampled at 1.2 of 19 Hz: the profiler's CPU limit", false]);
  assert.deepEqual(told([0, book(1187, { is_paused: 1 })]),
    [["1 agent heard", false], ["paused", true]]);
  assert.deepEqual(told([0, book(19_000, { is_paused: 1 })], [0, book(19_000)])[1],
    ["1 of 2 paused", true]);
  assert.deepEqual(told([90_000, book(19_000, { is_ended: 1 })], [5_000, book(1, { is_ended: 1 })]),
    [["2 agents ended", false]], "neither heard nor silent");
});

test("says how many CPUs are in use, of those that are sampled", () => {
  const book = (milli: number, more: object = {}): object => ({ ...BOOK, details: {
    sampling_millihertz_asked: 19_000, sampling_millihertz_now: 19_000, cpu_count: 2,
    cpus_sampled_milli: milli, ...more } });
  const told = (...books: object[]): string | undefined => qualityParts(qualityOf(
    agentsOf({ agents: books.map((one, at) => agent(`a${at}`, 0, one)) }) ?? [], NOW))
    .map((part) => part.text).find((text) => text.includes("CPU"));
  assert.equal(told(book(1980)), "1.98 of 2 CPUs in use");
  assert.equal(told(book(0, { cpu_count: 1 })), "0.00 of 1 CPU in use");
  assert.equal(told(book(1980), book(500, { cpu_count: 64 }), book(7, { is_paused: 1 })),
    "2.48 of 66 CPUs in use");
  assert.doesNotMatch(told(book(7, { sampling_millihertz_now: 0 })) ?? "", /in use/);
  assert.equal(told({ ...BOOK, details: { sampling_millihertz_asked: 1,
    sampling_millihertz_now: 1 } }), undefined, "an older agent");
});

test("little loss is told, much of it is marked", () => {
  const book = (dropped: number): object => ({ ...BOOK, incomplete: {}, stages: [
    { name: "agent", received: 10_000, excluded: {}, kept: 10_000 - dropped,
      dropped: { ring_full: dropped } }] });
  const parts = (dropped: number): [string, boolean][] => qualityParts(qualityOf(
    agentsOf({ agents: [agent("a", 0, book(dropped))] }) ?? [], NOW))
    .map((part) => [part.text, part.isBad]);
  assert.deepEqual(parts(0)[1], ["no sample lost", false]);
  assert.deepEqual(parts(1)[1], ["1 sample lost (0.01 %)", false]);
  assert.deepEqual(parts(200)[1], ["200 samples lost (2.0 %)", true]);
  assert.deepEqual(parts(0)[2], ["0 % of the stacks incomplete", false]);
});

test("one sample is one", () => {
  assert.deepEqual([1, 684].map(samplesText), ["1 sample", "684 samples"]);
});

test("takes nothing that is not as the API says", () => {
  for (const json of [null, {}, { agents: [{}] }, { agents: [{ agent: "a" }] }]) {
    assert.equal(agentsOf(json), null, JSON.stringify(json));
  }
  const odd = agentsOf({ agents: [agent("a", 0, { stages: [{ received: "many" }] })] });
  assert.equal(odd?.[0].book, null, "a book that is none does not take the agent away");
  assert.equal(statusOf({ store: {} }), null);
  assert.deepEqual(statusOf({ store: { rows: 1, from_unix_ms: null, to_unix_ms: 5,
    refuses_writes: "disk full" } }), { rows: 1, fromMs: null, toMs: 5,
    refusesWrites: "disk full" });
});
