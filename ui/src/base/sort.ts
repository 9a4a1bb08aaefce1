// Sorts numbers of things by a key each, stable.

// The order of 0 .. keys.length - 1 by ascending key; equal keys keep their order.
// Cost: four passes over the keys, whatever they hold (no NaN); 24 bytes per key meanwhile.
export function orderByKeys(keys: Float64Array): Uint32Array {
  const count = keys.length;
  const words = sortableWords(keys);
  let order = new Uint32Array(count);
  let next = new Uint32Array(count);
  for (let i = 0; i < count; ++i) order[i] = i;
  const counts = new Uint32Array(65536);
  for (let digit = 0; digit < 4; ++digit) {
    const half = digit >>> 1; // the low word first
    const shift = (digit & 1) * 16;
    counts.fill(0);
    for (let i = 0; i < count; ++i) ++counts[(words[2 * i + half] >>> shift) & 0xffff];
    let sum = 0;
    for (let value = 0; value < 65536; ++value) {
      const here = counts[value];
      counts[value] = sum;
      sum += here;
    }
    for (let i = 0; i < count; ++i) {
      const item = order[i];
      next[counts[(words[2 * item + half] >>> shift) & 0xffff]++] = item;
    }
    [order, next] = [next, order];
  }
  return order;
}

// The bits of each key, changed so that they sort like unsigned numbers; the low word comes first.
function sortableWords(keys: Float64Array): Uint32Array {
  const floats = Float64Array.from(keys, (key) => key + 0); // -0 becomes 0
  const words = new Uint32Array(floats.buffer);
  for (let i = 0; i < words.length; i += 2) {
    if (words[i + 1] >>> 31 === 1) {
      words[i] = ~words[i];
      words[i + 1] = ~words[i + 1];
    } else {
      words[i + 1] |= 0x80000000;
    }
  }
  return words;
}
