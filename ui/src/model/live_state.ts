// What the reader of the live page chose, as a value and as text for the part of the address behind
// "#". The flame graph's own text (widgets/view_state.ts) stands behind it and has other keys.

import { RangeChoice, RANGES, TimeRange } from "./time_window";

export const GROUPINGS = ["service", "version", "node", "process", "container"] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface LiveState {
  query: string; // a selector, as typed; "" = all CPU time
  range: RangeChoice;
  selection: TimeRange | null; // null = all of the range
  by: Grouping;
  picks: string[]; // values of the label `by`; none = all
}

export const DEFAULT_RANGE = "1h";
const KEYS: readonly string[] = ["query", "range", "from", "to", "selected", "by", "pick"];
const TIME_MAX_MS = 253402300800000; // the year 10000

export function initialLiveState(): LiveState {
  return { query: "", range: rangeNamed(DEFAULT_RANGE), selection: null, by: "service", picks: [] };
}

export function rangeNamed(name: string): RangeChoice {
  const found = RANGES.find((one) => one.name === name) ?? RANGES[2];
  return { kind: "last", lengthMs: found.lengthMs };
}

// Only what differs from the initial state is written.
export function liveToText(state: LiveState): string {
  const params = new URLSearchParams();
  const { range, selection } = state;
  if (state.query !== "") params.set("query", state.query);
  if (range.kind === "fixed") {
    params.set("from", String(range.fromMs));
    params.set("to", String(range.toMs));
  } else {
    const name = RANGES.find((one) => one.lengthMs === range.lengthMs)?.name ?? DEFAULT_RANGE;
    params.set("range", name);
  }
  if (selection !== null) params.set("selected", `${selection.fromMs},${selection.toMs}`);
  if (state.by !== "service") params.set("by", state.by);
  for (const pick of state.picks) params.append("pick", pick);
  return params.toString();
}

// Errors: what cannot be read is as if it were not there; links come from anywhere.
export function liveFromText(text: string): LiveState {
  const params = new URLSearchParams(text.replace(/^#/, ""));
  const state = initialLiveState();
  state.query = params.get("query") ?? "";
  const fixed = timeRangeOf(params.get("from"), params.get("to"));
  state.range = fixed === null
    ? rangeNamed(params.get("range") ?? DEFAULT_RANGE) : { kind: "fixed", ...fixed };
  const [from, to] = (params.get("selected") ?? "").split(",");
  state.selection = timeRangeOf(from, to ?? null);
  state.by = GROUPINGS.find((one) => one === params.get("by")) ?? "service";
  state.picks = params.getAll("pick");
  return state;
}

// Whether the text says which time is shown.
export function saysRange(text: string): boolean {
  const params = new URLSearchParams(text.replace(/^#/, ""));
  return params.has("range") || params.has("from");
}

// What is left of the text for the flame graph.
export function othersOfText(text: string): string {
  const params = new URLSearchParams(text.replace(/^#/, ""));
  for (const key of KEYS) params.delete(key);
  return params.toString();
}

function timeRangeOf(from: string | null, to: string | null): TimeRange | null {
  const fromMs = timeOf(from);
  const toMs = timeOf(to);
  return fromMs !== null && toMs !== null && fromMs < toMs ? { fromMs, toMs } : null;
}

function timeOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) && Number(text) < TIME_MAX_MS
    ? Number(text) : null;
}
