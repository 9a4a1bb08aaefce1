// JSON of the server, read with suspicion: what is not as the API says gives null, never a wrong
// value.

export type JsonObject = Record<string, unknown>;

export function objectOf(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : null;
}

export function listOf(value: unknown): unknown[] | null {
  return Array.isArray(value) ? value : null;
}

export function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function textsOf(value: unknown): string[] | null {
  const list = listOf(value);
  return list !== null && list.every((one) => typeof one === "string") ? (list as string[]) : null;
}

// {"reason": count} as pairs; counts that are 0 are left out.
export function countsOf(value: unknown): [string, number][] | null {
  const object = objectOf(value);
  if (object === null) return null;
  const counts: [string, number][] = [];
  for (const [name, count] of Object.entries(object)) {
    const number = numberOf(count);
    if (number === null) return null;
    if (number !== 0) counts.push([name, number]);
  }
  return counts;
}
