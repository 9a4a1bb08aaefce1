// Sums over steps as rates: of CPU time, how many cores were in use.

import { SeriesAnswer, SeriesRow } from "./series_answer";
import { TimeRange } from "./time_window";

// What a chart shows. Shape: a rate that is not known yet is NaN; rows are largest first.
export interface RateChart {
  fromMs: number;
  stepMs: number;
  stepCount: number;
  isCores: boolean;
  unit: string; // of a rate that is no number of cores: per second
  rows: { name: string; rates: Float64Array; mean: number; share: number }[];
  // The others as one; null = there is none.
  rest: { count: number; rates: Float64Array; mean: number; share: number } | null;
  mean: number; // of all
}

// Of a step that is known in part, less than this is too little to tell a rate.
const COVERED_LEAST = 0.5;

// A store without such samples does not know the unit; "" = one without any.
export function isCpuTime(type: string, unit: string): boolean {
  return (type === "cpu" && (unit === "nanoseconds" || unit === "")) || type + unit === "";
}

// known: since when there are samples at all, and until when all have come, later ones being on
// their way. A step that holds one of these times is judged by its part between them; what is
// outside is not known.
export function ratesOf(answer: SeriesAnswer, known: TimeRange): RateChart {
  const { fromMs, stepMs, rest, total } = answer;
  const isCores = isCpuTime(answer.type, answer.unit);
  const whole = isCores ? 1e9 : 1; // of the unit, in a second
  const stepCount = rest.sums.length;
  const covered = coveredMs(answer, known);
  const knownMs = covered.reduce((all, ms) => all + ms, 0);
  const rateOf = (sum: number, ms: number): number =>
    ms > 0 ? sum / whole / (ms / 1000) : NaN;
  const made = (row: SeriesRow): { rates: Float64Array; mean: number; share: number } => ({
    rates: row.sums.map((sum, step) => rateOf(sum, covered[step])),
    mean: knownMs > 0 ? rateOf(row.total, knownMs) : 0,
    share: total > 0 ? row.total / total : 0,
  });
  return {
    fromMs,
    stepMs,
    stepCount,
    isCores,
    unit: answer.unit,
    rows: answer.rows.map((row) => ({ name: row.name, ...made(row) })),
    rest: answer.rowsBehind > 0 ? { count: answer.rowsBehind, ...made(rest) } : null,
    mean: knownMs > 0 ? rateOf(total, knownMs) : 0,
  };
}

function coveredMs(answer: SeriesAnswer, known: TimeRange): number[] {
  const { fromMs, toMs, stepMs } = answer;
  return Array.from(answer.rest.sums, (_, step) => {
    const begin = fromMs + step * stepMs;
    const whole = Math.min(stepMs, toMs - begin);
    const covered = Math.min(begin + whole, known.toMs) - Math.max(begin, known.fromMs);
    return covered >= whole * COVERED_LEAST ? covered : 0;
  });
}

// Rows on top of each other, the first at the bottom. Shape: what is not known stays NaN.
export function stacked(columns: readonly Float64Array[]): Float64Array[] {
  let below: Float64Array | null = null;
  return columns.map((column) => {
    const base = below;
    const sums: Float64Array = base === null ? column.slice() : column.map((v, i) => v + base[i]);
    below = sums;
    return sums;
  });
}

// The end of an axis that begins at 0: the next of 1, 2, 3, 4, 5, 6, 8, 10 times a power of ten.
export function axisEnd(most: number): number {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 3, 4, 5, 6, 8].find((one) => one * power >= most * 1.02);
  return (step ?? 10) * power;
}
