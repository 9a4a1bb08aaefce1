import assert from "node:assert/strict";
import { test } from "node:test";
import { axisEnd, ratesOf, stacked } from "./rates";
import { seriesAnswerOf, SeriesAnswer } from "./series_answer";

const ALL = { fromMs: 0, toMs: 1e15 };
const SUM = { value: 0, count: 0 };

function answerOf(more: object = {}): Record<string, unknown> {
  return {
    question: "series",
    type: { type: "cpu", unit: "nanoseconds", count_type: "samples" },
    shown: "value",
    sides: [{ query: "{}", from_unix_ms: 100_000, to_unix_ms: 130_000 }],
    by: ["service.name"],
    notes: ["a note"],
    step_ms: 10_000,
    step_count: 3,
    rows: [
      { labels: { "service.name": "shop" }, total: { value: 30e9, count: 3 }, steps: [0, 2],
        values: [20e9, 10e9], counts: [2, 1] },
      { labels: { "service.name": "" }, total: { value: 5e9, count: 1 }, steps: [1],
        values: [5e9], counts: [1] },
    ],
    rows_behind: 2,
    rest: { labels: {}, total: { value: 5e9, count: 1 }, steps: [0], values: [5e9], counts: [1] },
    ...more,
  };
}

function known(more: object = {}): SeriesAnswer {
  const answer = seriesAnswerOf(answerOf(more));
  assert.ok(answer !== null);
  return answer;
}

test("reads rows as columns over all steps, with 0 where the answer has none", () => {
  const answer = known();
  assert.deepEqual(answer.rows.map((row) => [row.name, Array.from(row.sums)]),
    [["shop", [20e9, 0, 10e9]], ["", [0, 5e9, 0]]]);
  assert.equal(answer.total, 40e9);
  assert.equal(answer.samples, 5);
  assert.deepEqual(answer.notes, ["a note"]);
  const counts = known({ shown: "count" });
  assert.deepEqual(Array.from(counts.rows[0].sums), [2, 0, 1]);
  assert.equal(counts.unit, "count");
});

test("takes nothing that is not as the API says", () => {
  const row = answerOf().rows as object[];
  const wrong = [null, [], { ...answerOf(), step_ms: 0 }, { ...answerOf(), step_count: 1e9 },
    { ...answerOf(), sides: [] }, { ...answerOf(), rest: null },
    { ...answerOf(), rows: [{ ...row[0], steps: [3, 4] }] },
    { ...answerOf(), rows: [{ ...row[0], values: ["a", "b"] }] },
    { ...answerOf(), rows: [{ ...row[0], total: SUM.value }] }];
  for (const json of wrong) assert.equal(seriesAnswerOf(json), null, JSON.stringify(json));
});

test("CPU time is shown as cores in use, and what adds up to all is there", () => {
  const chart = ratesOf(known(), ALL);
  assert.equal(chart.isCores, true);
  assert.deepEqual(Array.from(chart.rows[0].rates), [2, 0, 1]);
  assert.equal(chart.rows[0].mean, 1);
  assert.equal(chart.rows[0].share, 0.75);
  assert.equal(chart.rest?.count, 2);
  assert.equal(chart.mean, 40 / 30);
  const bytes = ratesOf(known({ type: { type: "alloc_space", unit: "bytes" } }), ALL);
  assert.equal(bytes.isCores, false);
  assert.equal(bytes.rows[0].rates[0], 2e9, "per second");
  const none = { rows: [], rest: { labels: {}, total: SUM, steps: [], values: [], counts: [] } };
  for (const type of ["", "cpu"]) {
    assert.equal(ratesOf(known({ ...none, type: { type, unit: "" } }), ALL).isCores, true,
      "what there will be, before there is any");
  }
});

test("a step that is still filling is judged by its part, or not at all", () => {
  const half = ratesOf(known(), { ...ALL, toMs: 126_000 }); // 6 of the last 10 seconds
  assert.deepEqual(Array.from(half.rows[0].rates), [2, 0, 10 / 6]);
  assert.equal(half.mean, 40 / 26);
  const begun = ratesOf(known(), { ...ALL, toMs: 124_000 });
  assert.deepEqual(Array.from(begun.rows[0].rates), [2, 0, NaN]);
  const young = ratesOf(known(), { ...ALL, fromMs: 104_000 });
  assert.deepEqual(Array.from(young.rows[0].rates), [20 / 6, 0, 1], "nothing was before");
  assert.equal(young.mean, 40 / 26);
  const none = ratesOf(known(), { fromMs: 0, toMs: 0 });
  assert.deepEqual([none.mean, none.rows[0].mean], [0, 0], "and no division by nothing");
});

test("rows stand on each other, and an axis ends at a round number above them", () => {
  const sums = stacked([Float64Array.of(1, NaN), Float64Array.of(2, NaN)]);
  assert.deepEqual(sums.map((row) => Array.from(row)), [[1, NaN], [3, NaN]]);
  assert.deepEqual([0, 0.9, 1, 7.9, 123].map(axisEnd), [1, 1, 2, 10, 200]);
});
