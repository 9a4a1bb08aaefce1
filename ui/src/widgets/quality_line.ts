// The line at the bottom of the live page: how much the picture can be trusted.
import type { Quality } from "../model/quality";
import { durationText } from "../model/time_window";
import { make } from "./dom";
import { formatCount, formatShare, shareOf } from "./format";

// 1.1875 -> "1.2"
function rateText(hz: number): string {
  return String(hz < 10 ? Number(hz.toFixed(1)) : Math.round(hz));
}

function slowedText({ heard, slowed }: Quality): string {
  if (slowed === null) return "";
  const { count, nowHz, askedHz } = slowed;
  const rate = nowHz === 0 ? "not sampled for a while"
    : `sampled at ${rateText(nowHz)} of ${rateText(askedHz)} Hz`;
  const who = heard === 1 ? "" : count === 1 ? `1 of ${heard} `
    : `${count} of ${heard} slowed, one `;
  return `${who}${rate}: the profiler's CPU limit`;
}

// Each part as text, and whether a reader should care.
export function qualityParts(quality: Quality): { text: string; isBad: boolean; title: string }[] {
  const parts: { text: string; isBad: boolean; title: string }[] = [];
  const put = (text: string, isBad: boolean, title: string): void => {
    parts.push({ text, isBad, title });
  };
  const agents = (count: number): string => (count === 1 ? "1 agent" : `${count} agents`);
  if (quality.heard > 0 || quality.silent + quality.ended === 0) {
    const text = quality.heard > 0 ? `${agents(quality.heard)} heard` : quality.others
      ? "no agent heard; profiles are pushed" : "no agent heard";
    put(text, false, "In the last minute, since the server was started");
  }
  if (quality.paused > 0) {
    put(quality.heard === 1 ? "paused" : `${quality.paused} of ${quality.heard} paused`, true,
      "Nothing is sampled there until `vesta resume`");
  }
  if (quality.cpus !== null) {
    const { inUse, count } = quality.cpus;
    put(`${inUse.toFixed(2)} of ${count} ${count === 1 ? "CPU" : "CPUs"} in use`, false,
      "By the newest samples; where nearly all are in use, programs wait for a CPU");
  }
  if (quality.slowed !== null) {
    put(slowedText(quality), false, "Fewer samples are taken, each counting for more, so that the "
      + "agent stays within --cpu-limit; `vesta doctor` there knows more");
  }
  if (quality.ended > 0) {
    put(`${agents(quality.ended)} ended`, false, "In good order, and not started again");
  }
  if (quality.silent > 0) {
    put(`${agents(quality.silent)} silent for ${durationText(quality.silentMs)}`, true,
      "Sent before and does not any more: its machine is off, or `vesta doctor` there knows more");
  }
  if (quality.taken > 0) {
    const lost = quality.lost === 0 ? "no sample lost"
      : `${samplesText(quality.lost)} lost `
        + `(${formatShare(shareOf(quality.lost, quality.taken))})`;
    const reasons = quality.lostBy.map(([reason, count]) => `${reason}: ${formatCount(count)}`);
    put(lost, quality.lost > quality.taken / 100,
      ["Of all that these agents took since they were started", ...reasons].join("\n"));
  }
  if (quality.kept > 0) {
    put(`${formatShare(shareOf(quality.incomplete, quality.kept))} of the stacks incomplete`,
      quality.incomplete > quality.kept / 10,
      "Stacks that do not reach the start of their thread; they are counted, and labelled");
  }
  return parts;
}

export function samplesText(count: number): string {
  return `${formatCount(count)} ${count === 1 ? "sample" : "samples"}`;
}

export class QualityLine {
  readonly element = make("footer", { class: "live-quality", testId: "quality", role: "note" });

  // more: what else is to be said, such as when the picture was made.
  show(quality: Quality, more: readonly string[]): void {
    const parts = qualityParts(quality).map((part) => make("span", { text: part.text,
      title: part.title, class: part.isBad ? "live-bad" : undefined }));
    this.element.replaceChildren(...parts, ...more.map((text) => make("span", { text })));
  }
}
