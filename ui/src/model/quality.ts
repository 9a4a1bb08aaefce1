// How much the picture can be trusted: who sends, what was lost on the way, and whether the server
// takes more.

import { JsonObject, countsOf, listOf, numberOf, objectOf, textOf } from "./json";

export interface AgentFacts {
  name: string; // "" = senders that are no agents of vesta
  lastSeenMs: number;
  // Of its book, since it was started; null = it sent none.
  book: { taken: number; kept: number; lost: [string, number][]; incomplete: number;
    sampling: Sampling | null } | null; // sampling: null = it does not say
}

export interface Sampling {
  askedHz: number;
  nowHz: number; // less where the agent's CPU limit slows it; 0 = it takes none for a while
  isPaused: boolean;
  isEnded: boolean; // in good order
  cpus: { inUse: number; count: number } | null; // by its newest samples; null = it does not say
}

export interface StatusFacts {
  rows: number;
  fromMs: number | null; // of the oldest sample
  toMs: number | null; // of the newest
  refusesWrites: string | null;
}

export interface Quality {
  heard: number; // agents, within the last minute
  silent: number;
  silentMs: number; // the longest of them
  ended: number; // these are not silent
  paused: number; // of those that are heard
  // Of those that are heard and not paused, slower than asked: how many, and the slowest of them.
  slowed: { count: number; nowHz: number; askedHz: number } | null;
  cpus: { inUse: number; count: number } | null; // of all that are heard and sample
  others: boolean; // somebody else pushes, too
  taken: number; // samples that all books know of
  lost: number;
  lostBy: [string, number][]; // largest first
  incomplete: number;
  kept: number;
}

const SILENT_FROM_MS = 60_000;

export type Standing = "heard" | "silent" | "ended" | "other"; // other: no agent of vesta

export function standingOf(agent: AgentFacts, nowMs: number): Standing {
  if (agent.name === "") return "other";
  if (agent.book?.sampling?.isEnded === true) return "ended";
  return nowMs - agent.lastSeenMs < SILENT_FROM_MS ? "heard" : "silent";
}

// null = not what the API says.
export function agentsOf(json: unknown): AgentFacts[] | null {
  const list = listOf(objectOf(json)?.agents);
  if (list === null) return null;
  const agents: AgentFacts[] = [];
  for (const item of list) {
    const agent = objectOf(item);
    const name = textOf(agent?.agent);
    const lastSeenMs = numberOf(agent?.last_seen_unix_ms);
    if (agent === null || name === null || lastSeenMs === null) return null;
    agents.push({ name, lastSeenMs, book: bookOf(agent.book) });
  }
  return agents;
}

// Samples travel from stage to stage: what any of them dropped is lost.
function bookOf(json: unknown): AgentFacts["book"] {
  const book = objectOf(json);
  const stages = listOf(book?.stages);
  const incomplete = countsOf(book?.incomplete);
  if (stages === null || stages.length === 0 || incomplete === null) return null;
  const lost: [string, number][] = [];
  let taken = 0;
  let kept = 0;
  for (const [at, item] of stages.entries()) {
    const stage = objectOf(item);
    const received = numberOf(stage?.received);
    const excluded = countsOf(stage?.excluded);
    const dropped = countsOf(stage?.dropped);
    if (received === null || excluded === null || dropped === null) return null;
    if (at === 0) taken = received - sumOf(excluded);
    if (textOf(stage?.name) === "agent") kept = numberOf(stage?.kept) ?? 0;
    lost.push(...dropped);
  }
  return { taken, kept, lost, incomplete: sumOf(incomplete),
    sampling: samplingOf(objectOf(book?.details)) };
}

function samplingOf(details: JsonObject | null): Sampling | null {
  const asked = numberOf(details?.sampling_millihertz_asked);
  const now = numberOf(details?.sampling_millihertz_now);
  if (asked === null || now === null) return null;
  const count = numberOf(details?.cpu_count) ?? 0;
  const inUse = (numberOf(details?.cpus_sampled_milli) ?? 0) / 1000;
  return { askedHz: asked / 1000, nowHz: now / 1000,
    isPaused: (numberOf(details?.is_paused) ?? 0) > 0,
    isEnded: (numberOf(details?.is_ended) ?? 0) > 0,
    cpus: count > 0 ? { inUse, count } : null };
}

function sumOf(counts: readonly [string, number][]): number {
  return counts.reduce((all, [, count]) => all + count, 0);
}

export function statusOf(json: unknown): StatusFacts | null {
  const store = objectOf(objectOf(json)?.store);
  const rows = numberOf(store?.rows);
  if (store === null || rows === null) return null;
  return {
    rows,
    fromMs: numberOf(store.from_unix_ms),
    toMs: numberOf(store.to_unix_ms),
    refusesWrites: textOf(store.refuses_writes),
  };
}

function addSampling(sampling: Sampling | null, quality: Quality): void {
  if (sampling === null) return;
  const { isPaused, nowHz, askedHz } = sampling;
  if (isPaused) {
    ++quality.paused;
    return;
  }
  if (sampling.cpus !== null && nowHz > 0) {
    const { inUse, count } = quality.cpus ?? { inUse: 0, count: 0 };
    quality.cpus = { inUse: inUse + sampling.cpus.inUse, count: count + sampling.cpus.count };
  }
  if (nowHz < askedHz) {
    const { slowed } = quality;
    const slowest = slowed !== null && slowed.nowHz <= nowHz ? slowed : { nowHz, askedHz };
    quality.slowed = { ...slowest, count: (slowed?.count ?? 0) + 1 };
  }
}

export function qualityOf(agents: readonly AgentFacts[], nowMs: number): Quality {
  const quality: Quality = { heard: 0, silent: 0, silentMs: 0, ended: 0, paused: 0, slowed: null,
    cpus: null, others: false, taken: 0, lost: 0, lostBy: [], incomplete: 0, kept: 0 };
  const lostBy = new Map<string, number>();
  for (const agent of agents) {
    const standing = standingOf(agent, nowMs);
    if (standing === "other") {
      quality.others = true;
    } else if (standing === "heard") {
      ++quality.heard;
      addSampling(agent.book?.sampling ?? null, quality);
    } else if (standing === "ended") {
      ++quality.ended;
    } else {
      ++quality.silent;
      quality.silentMs = Math.max(quality.silentMs, nowMs - agent.lastSeenMs);
    }
    if (agent.book === null) continue;
    quality.taken += agent.book.taken;
    quality.kept += agent.book.kept;
    quality.incomplete += agent.book.incomplete;
    for (const [reason, count] of agent.book.lost) {
      lostBy.set(reason, (lostBy.get(reason) ?? 0) + count);
    }
  }
  quality.lostBy = [...lostBy].sort((a, b) => b[1] - a[1]);
  quality.lost = sumOf(quality.lostBy);
  return quality;
}
