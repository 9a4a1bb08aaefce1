// What the live page asks the server, as parameters of its API.
import type { Outcome, PageAnswer, Server } from "../api/server";
import type { LiveState } from "../model/live_state";
import { agentsOf, statusOf, type AgentFacts, type StatusFacts } from "../model/quality";
import { narrowed } from "../model/selector_text";
import { type SeriesAnswer, seriesAnswerOf } from "../model/series_answer";
import type { TimeRange, Window } from "../model/time_window";

// Holds a machine's tree of minutes whole; more would be narrower than a pixel.
const TREE_NODES_MAX = "32768";

// The selector of what the flame graph shows.
export function effectiveQuery(state: LiveState): string {
  return narrowed(state.query, state.by, state.picks);
}

export function askStatus(server: Server, signal: AbortSignal): Promise<Outcome<StatusFacts>> {
  return server.json("status", {}, signal, statusOf);
}

export function askAgents(server: Server, signal: AbortSignal): Promise<Outcome<AgentFacts[]>> {
  return server.json("agents", {}, signal, agentsOf);
}

// The chart: by the label, without what was clicked.
export function askSeries(
  server: Server, signal: AbortSignal, state: LiveState, window: Window, rowsMax: number,
): Promise<Outcome<SeriesAnswer>> {
  return server.json("series", { query: state.query, from: String(window.fromMs),
    to: String(window.toMs), by: state.by, step: `${window.stepMs / 1000}s`,
    limit: String(rowsMax) }, signal, seriesAnswerOf);
}

export function askTree(
  server: Server, signal: AbortSignal, state: LiveState, range: TimeRange,
): Promise<Outcome<PageAnswer>> {
  return server.page("tree", { query: effectiveQuery(state), from: String(range.fromMs),
    to: String(range.toMs), by: state.by, max_nodes: TREE_NODES_MAX }, signal);
}

// Which time a selector with a time of its own is about: "cpu@-2h..-1h".
export async function askRange(server: Server, query: string): Promise<Outcome<TimeRange>> {
  const answer = await server.json("series", { query, limit: "1" }, new AbortController().signal,
    seriesAnswerOf);
  if (!answer.ok) return answer;
  return { ok: true, value: { fromMs: answer.value.fromMs, toMs: answer.value.toMs } };
}
