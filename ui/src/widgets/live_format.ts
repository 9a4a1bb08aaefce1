// Rates and times as the live page says them; times are UTC, as everywhere in vesta.
import { formatValue } from "./format";

// 1.234 -> "1.23 cores". isShort: without the word, for an axis.
export function formatRate(rate: number, isCores: boolean, unit: string, isShort = false): string {
  if (!isCores) {
    return `${formatValue(rate, unit)}/s`;
  }
  const size = Math.abs(rate);
  if (isShort) {
    return String(Number(rate.toPrecision(4)));
  }
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3;
  const text = size === 0 ? "0" : size < 0.001 ? "< 0.001" : rate.toFixed(digits);
  return `${text} ${text === "1.00" ? "core" : "cores"}`;
}

const DAY_MS = 86_400_000;

// The time of day; with the day where steps are long.
export function formatClock(unixMs: number, stepMs: number): string {
  const iso = new Date(unixMs).toISOString();
  const time = iso.slice(11, 19);
  return stepMs >= DAY_MS / 24 ? `${iso.slice(5, 10)} ${time.slice(0, 5)}` : time;
}

// The marks of a time axis that stand this far apart; a new day is told at its beginning, and the
// clock at the first mark.
export function formatMarks(unixSeconds: readonly number[], apartSeconds: number): string[] {
  return unixSeconds.map((seconds, at) => {
    const iso = new Date(seconds * 1000).toISOString();
    const isDay = iso.slice(11, 19) === "00:00:00";
    const text = isDay ? iso.slice(5, 10) : iso.slice(11, apartSeconds < 60 ? 19 : 16);
    return at === 0 && !isDay ? `${text} UTC` : text;
  });
}

// "2026-11-30 10:02:00 to 10:05:00 UTC"
export function formatRange(fromMs: number, toMs: number): string {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  const sameDay = from.slice(0, 10) === to.slice(0, 10);
  return `${from.slice(0, 10)} ${from.slice(11, 19)} to `
    + `${sameDay ? "" : `${to.slice(0, 10)} `}${to.slice(11, 19)} UTC`;
}
