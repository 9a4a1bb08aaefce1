// What /api/v1/series answers, as columns over the steps of the window.

import { JsonObject, listOf, numberOf, objectOf, textOf, textsOf } from "./json";

export interface SeriesRow {
  name: string; // value of the label that it is by; "" = none
  total: number;
  samples: number;
  sums: Float64Array; // per step, in the type's unit
}

export interface SeriesAnswer {
  fromMs: number;
  toMs: number;
  stepMs: number;
  type: string;
  unit: string; // of the sums
  total: number;
  samples: number; // that it is of; 0 = its type does not count them
  rows: SeriesRow[]; // largest first
  rest: SeriesRow; // the sum of those that are behind
  rowsBehind: number;
  notes: string[];
}

const STEPS_MAX = 11_000; // of the API

// null = not what the API says.
export function seriesAnswerOf(json: unknown): SeriesAnswer | null {
  const answer = objectOf(json);
  const type = objectOf(answer?.type);
  const side = objectOf(listOf(answer?.sides)?.[0]);
  if (answer === null || type === null || side === null) return null;
  const fromMs = numberOf(side.from_unix_ms);
  const toMs = numberOf(side.to_unix_ms);
  const stepMs = numberOf(answer.step_ms);
  const stepCount = numberOf(answer.step_count);
  if (fromMs === null || toMs === null || stepMs === null || stepCount === null) return null;
  if (stepMs <= 0 || stepCount < 0 || stepCount > STEPS_MAX) return null;
  const isCount = answer.shown === "count";
  const rest = rowOf(objectOf(answer.rest), stepCount, isCount);
  const rows = (listOf(answer.rows) ?? []).map((row) => rowOf(objectOf(row), stepCount, isCount));
  const rowsBehind = numberOf(answer.rows_behind);
  if (rest === null || rowsBehind === null || rows.includes(null)) return null;
  const known = rows as SeriesRow[];
  return {
    fromMs,
    toMs,
    stepMs,
    type: textOf(type.type) ?? "",
    unit: isCount ? "count" : textOf(type.unit) ?? "",
    total: known.reduce((all, row) => all + row.total, rest.total),
    samples: known.reduce((all, row) => all + row.samples, rest.samples),
    rows: known,
    rest,
    rowsBehind,
    notes: textsOf(answer.notes) ?? [],
  };
}

function rowOf(row: JsonObject | null, stepCount: number, isCount: boolean): SeriesRow | null {
  const steps = listOf(row?.steps);
  const values = listOf(isCount ? row?.counts : row?.values);
  const total = numberOf(objectOf(row?.total)?.[isCount ? "count" : "value"]);
  if (row === null || steps === null || values === null || total === null) return null;
  const sums = new Float64Array(stepCount);
  for (let i = 0; i < steps.length; ++i) {
    const step = numberOf(steps[i]);
    const value = numberOf(values[i]);
    if (step === null || value === null || step < 0 || step >= stepCount) return null;
    sums[step] = value;
  }
  const name = Object.values(objectOf(row.labels) ?? {})[0];
  const samples = numberOf(objectOf(row.total)?.count) ?? 0;
  return { name: textOf(name) ?? "", total, samples, sums };
}
