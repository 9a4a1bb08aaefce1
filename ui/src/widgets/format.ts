// Numbers as people read them: values in the unit of the profile, shares, counts.

const TIME_STEPS: [number, string][] = [[1e9 * 3600, "h"], [1e9 * 60, "min"], [1e9, "s"],
  [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const BYTE_STEPS: [number, string][] = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"],
  [2 ** 10, "KiB"], [1, "B"]];
const PLAIN_STEPS: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]];
const NANOSECONDS: Record<string, number> = { nanoseconds: 1, nanosecond: 1, ns: 1,
  microseconds: 1e3, us: 1e3, milliseconds: 1e6, ms: 1e6, seconds: 1e9, s: 1e9 };

// Three digits that count, with no more zeros than needed: 1.23, 12.3, 123.
function threeDigits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2);
}

function stepped(value: number, steps: [number, string][]): string {
  for (const [size, name] of steps) {
    if (Math.abs(value) >= size) {
      return `${threeDigits(value / size)} ${name}`;
    }
  }
  const [size, name] = steps[steps.length - 1];
  return `${threeDigits(value / size)} ${name}`;
}

// A value of this unit, e.g. 1230000 "nanoseconds" -> "1.23 ms".
export function formatValue(value: number, unit: string): string {
  const scale = NANOSECONDS[unit];
  if (scale !== undefined) {
    return value === 0 ? "0" : stepped(value * scale, TIME_STEPS);
  }
  if (unit === "bytes" || unit === "byte") {
    return value === 0 ? "0" : stepped(value, BYTE_STEPS);
  }
  const number =
    Math.abs(value) >= 1e4 ? stepped(value, PLAIN_STEPS) : threeDigits(value);
  return unit === "" || unit === "count" || unit === "samples" ? number : `${number} ${unit}`;
}

export function formatSigned(value: number, unit: string): string {
  const text = formatValue(Math.abs(value), unit);
  return value > 0 ? `+${text}` : value < 0 ? `−${text}` : text;
}

// 0.1234 -> "12.3 %"; what is not nothing never reads as nothing.
export function formatShare(share: number): string {
  const percent = share * 100;
  const size = Math.abs(percent);
  if (size === 0 || !Number.isFinite(size)) {
    return "0 %";
  }
  if (size < 0.01) {
    return "< 0.01 %";
  }
  return `${percent.toFixed(size < 1 ? 2 : size < 99.95 ? 1 : 0)} %`;
}

export function formatSignedShare(share: number): string {
  const text = formatShare(Math.abs(share));
  return share > 0 ? `+${text}` : share < 0 ? `−${text}` : text;
}

// 1234567 -> "1 234 567", with spaces that do not break.
// "2026-11-30 10:02:00 to 11:02:00 UTC": the day is said twice where it is another one.
export function formatTimes(fromUnixMs: number, durationMs: number): string {
  const text = (ms: number): [string, string] => {
    const iso = new Date(ms).toISOString();
    return [iso.slice(0, 10), iso.slice(11, 19)];
  };
  const [fromDay, from] = text(fromUnixMs);
  if (durationMs <= 0) return `${fromDay} ${from} UTC`;
  const [toDay, to] = text(fromUnixMs + durationMs);
  return `${fromDay} ${from} to ${fromDay === toDay ? "" : `${toDay} `}${to} UTC`;
}

export function formatCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function shareOf(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

export function sum(values: ArrayLike<number>): number {
  let all = 0;
  for (let i = 0; i < values.length; i++) {
    all += values[i];
  }
  return all;
}

// "/usr/lib/libz.so.1" -> "libz.so.1".
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}
