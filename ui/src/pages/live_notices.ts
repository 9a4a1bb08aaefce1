// Why there is no picture, and what to do: in words.
import { standingOf, type AgentFacts, type StatusFacts } from "../model/quality";
import { durationText, type TimeRange } from "../model/time_window";
import { formatRange } from "../widgets/live_format";
import type { NoticeContent } from "../widgets/notice";

// From the start of an agent to its first picture here: it sends every 10 seconds at most.
export const FIRST_PICTURE_SECONDS = 15;

export interface EmptyFacts {
  status: StatusFacts;
  agents: readonly AgentFacts[];
  nowMs: number;
  range: TimeRange; // that is asked for
  query: string; // that is asked for; "" = all
  isSelection: boolean; // the range was chosen in the chart
  origin: string; // of the server
  notes: readonly string[]; // its own
}

export interface EmptyActions {
  showNewest(toMs: number): void;
  showAll(): void; // without the query and what was clicked
  clearSelection(): void;
}

export function emptyNotice(facts: EmptyFacts, actions: EmptyActions): NoticeContent {
  return facts.status.rows === 0 ? nothingYet(facts) : nothingHere(facts, actions);
}

// names: of the label that the chart is by, the largest first; each can be had alone.
export function tooMuchNotice(
  message: string, names: readonly string[], pick: (name: string) => void,
): NoticeContent {
  return { id: "too-much", heading: "Too much for one flame graph", commands: [],
    texts: [`The server says: ${message}.`,
      "Choose less time in the chart, or one of what it shows:"],
    actions: names.map((name) => ({ id: "only", label: `Only ${name}`, run: () => pick(name) })) };
}

function nothingYet({ agents, nowMs, origin }: EmptyFacts): NoticeContent {
  const heard = agents.filter((agent) => standingOf(agent, nowMs) === "heard");
  if (heard.length > 0 && heard.every((agent) => agent.book?.sampling?.isPaused === true)) {
    return { id: "no-data-yet", heading: "No samples yet", commands: ["vesta resume"], actions: [],
      texts: ["An agent is there, and paused. On its machine, this lets it sample:"] };
  }
  if (heard.length > 0) {
    return { id: "no-data-yet", heading: "No samples yet", commands: [], actions: [], texts: [
      `An agent is there: the first picture comes within ${FIRST_PICTURE_SECONDS} seconds of its `
      + "first sample. A machine that does nothing has none."] };
  }
  return { id: "no-data", heading: "No data yet", actions: [], texts: [
    `Nobody has sent anything to this server. Once an agent runs, the first picture comes within `
    + `${FIRST_PICTURE_SECONDS} seconds; this page shows it by itself.`,
    "Profile a whole machine (as root), or push a profile that you have:"],
  commands: [`vesta agent --server ${origin}`,
    `curl --data-binary @cpu.pb.gz '${origin}/api/v1/profiles?label.service=x'`] };
}

function nothingHere(facts: EmptyFacts, actions: EmptyActions): NoticeContent {
  const { status, range, query, nowMs } = facts;
  const what = query === "" ? "samples" : `samples of ${query}`;
  const content: NoticeContent = { id: "empty", heading: "Nothing in this time", commands: [],
    texts: [`There are no ${what} from ${formatRange(range.fromMs, range.toMs)}.`], actions: [] };
  content.texts.push(...facts.notes.map((note) => `The server notes: ${note}.`));
  const { toMs } = status;
  if (toMs !== null && toMs < range.fromMs) {
    content.texts.push(`The newest sample of all is ${durationText(nowMs - toMs)} old.`);
    content.actions.push({ id: "newest", label: "Show the newest",
      run: () => actions.showNewest(toMs) });
  } else if (status.fromMs !== null && status.fromMs >= range.toMs) {
    content.texts.push("The oldest sample is younger than that.");
  }
  if (facts.isSelection) {
    content.actions.push({ id: "whole", label: "Show the whole range",
      run: () => actions.clearSelection() });
  }
  if (query !== "") {
    content.actions.push({ id: "all", label: "Show all samples", run: () => actions.showAll() });
  }
  return content;
}
