// Typed arrays whose final length is not known in advance.

// Doubles. Cost: amortised one copy per element.
export class GrowingInt32 {
  values: Int32Array;
  length = 0;

  constructor(capacity = 64) {
    this.values = new Int32Array(Math.max(capacity, 1));
  }

  push(value: number): void {
    if (this.length === this.values.length) this.values = grownInt32(this.values, this.length + 1);
    this.values[this.length++] = value;
  }
}

export class GrowingFloat64 {
  values: Float64Array;
  length = 0;

  constructor(capacity = 64) {
    this.values = new Float64Array(Math.max(capacity, 1));
  }

  push(value: number): void {
    if (this.length === this.values.length) {
      this.values = grownFloat64(this.values, this.length + 1);
    }
    this.values[this.length++] = value;
  }
}

// A copy with room for at least `length`, the new part zero.
export function grownInt32(old: Int32Array, length: number): Int32Array {
  const grown = new Int32Array(Math.max(length, old.length * 2));
  grown.set(old);
  return grown;
}

export function grownFloat64(old: Float64Array, length: number): Float64Array {
  const grown = new Float64Array(Math.max(length, old.length * 2));
  grown.set(old);
  return grown;
}
