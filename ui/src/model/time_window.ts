// Which time is shown: the last minutes, which move on with the clock, or a time that stays.

export interface TimeRange {
  fromMs: number;
  toMs: number;
}

export type RangeChoice = { kind: "last"; lengthMs: number } | ({ kind: "fixed" } & TimeRange);

// A range with the steps of its chart, both at whole steps, so that steps stay the same while the
// window moves on.
export interface Window extends TimeRange {
  stepMs: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const RANGES: readonly { name: string; label: string; lengthMs: number }[] = [
  { name: "5m", label: "5 min", lengthMs: 5 * MINUTE },
  { name: "15m", label: "15 min", lengthMs: 15 * MINUTE },
  { name: "1h", label: "1 h", lengthMs: HOUR },
  { name: "6h", label: "6 h", lengthMs: 6 * HOUR },
  { name: "24h", label: "24 h", lengthMs: DAY },
  { name: "7d", label: "7 d", lengthMs: 7 * DAY },
];

// Who sends whole profiles does so every ten seconds or so: shorter steps would be empty by turns.
const STEPS_WISHED = 120;
const NICE_STEPS_MS: readonly number[] = [SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND,
  MINUTE, 3 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, DAY];
const REFRESH_LEAST_MS = 5 * SECOND;
const REFRESH_MOST_MS = MINUTE;

// The shortest range that holds all that there is, an hour at most: what is shown where the reader
// has not said what. oldestMs: of all samples; null = there is none.
export function firstRange(
  oldestMs: number | null, nowMs: number,
): { kind: "last"; lengthMs: number } {
  const ageMs = nowMs - (oldestMs ?? nowMs);
  const found = RANGES.find(({ lengthMs }) => lengthMs >= Math.min(ageMs, HOUR));
  return { kind: "last", lengthMs: found?.lengthMs ?? HOUR };
}

export function stepOf(lengthMs: number): number {
  const nice = NICE_STEPS_MS.find((step) => lengthMs / step <= STEPS_WISHED);
  return nice ?? DAY * Math.ceil(lengthMs / (STEPS_WISHED * DAY));
}

export function windowOf(choice: RangeChoice, nowMs: number): Window {
  const range = choice.kind === "fixed"
    ? choice : { fromMs: nowMs - choice.lengthMs, toMs: nowMs };
  const stepMs = stepOf(range.toMs - range.fromMs);
  return {
    fromMs: Math.floor(range.fromMs / stepMs) * stepMs,
    toMs: Math.ceil(range.toMs / stepMs) * stepMs,
    stepMs,
  };
}

// How long a picture stays until the next one is asked for. tookMs: what the last one cost, since
// a server that needs long must not be kept busy by those who watch.
export function refreshMs(lengthMs: number, tookMs: number): number {
  const wished = Math.min(REFRESH_MOST_MS, Math.max(REFRESH_LEAST_MS, lengthMs / 720));
  return Math.max(wished, 4 * tookMs);
}

// "3 min 20 s": the two largest parts.
export function durationText(ms: number): string {
  const parts: string[] = [];
  let left = Math.round(ms / SECOND);
  for (const [size, name] of [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"], [SECOND, "s"]] as const) {
    const count = Math.floor(left / (size / SECOND));
    left -= count * (size / SECOND);
    if (count > 0 && parts.length < 2) parts.push(`${count} ${name}`);
    else if (parts.length === 1) break;
  }
  return parts.length === 0 ? "less than 1 s" : parts.join(" ");
}

// The part of `range` that lies in `within`; null = none.
export function clipped(range: TimeRange, within: TimeRange): TimeRange | null {
  const fromMs = Math.max(range.fromMs, within.fromMs);
  const toMs = Math.min(range.toMs, within.toMs);
  return fromMs < toMs ? { fromMs, toMs } : null;
}
