// What changed between two sides, and whether sampling alone would show as much.

export interface Difference {
  delta: number; // after - before
  relative: number; // delta / before; Infinity for what is new, 0 when both are 0
  isNew: boolean;
  isGone: boolean;
  withinNoise: boolean;
}

// perSample: value of one sample on each side; 0 = unknown, then nothing counts as noise.
export function differenceOf(before: number, after: number, perSample: number[]): Difference {
  const delta = after - before;
  return {
    delta,
    relative: before > 0 ? delta / before : delta > 0 ? Infinity : 0,
    isNew: before === 0 && after > 0,
    isGone: before > 0 && after === 0,
    withinNoise: isWithinNoise(before, after, perSample),
  };
}

// Counts of samples scatter by their root; a sum of n samples of p each by p times that of n. Two
// standard deviations of the difference are taken as noise.
export function isWithinNoise(before: number, after: number, perSample: number[]): boolean {
  if (!(perSample[0] > 0 && perSample[1] > 0)) return false;
  return Math.abs(after - before) <= 2 * Math.sqrt(before * perSample[0] + after * perSample[1]);
}
