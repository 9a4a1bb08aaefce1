// The colour key of every function, by number, and what each key's functions hold.

import { FunctionTable } from "./functions";
import { GroupedFunction, groupOf } from "./groups";
import { Colouring, COLOURINGS } from "./nouns";
import { FunctionSums } from "./tree";

export interface GroupSums {
  key: string;
  self: number[]; // per side
  func: number; // with the most self value
}

// Cost: a look at the name of each function that is in use, once per colouring.
export class ColourGroups {
  private readonly functions: FunctionTable;
  private readonly colourings: Numbering[];

  constructor(functions: FunctionTable) {
    this.functions = functions;
    this.colourings = COLOURINGS.map(() => new Numbering());
  }

  // The key of a function for each colouring, in the order of COLOURINGS.
  keysOf(func: number): string[] {
    return COLOURINGS.map((colouring, index) => {
      const numbering = this.colourings[index];
      return numbering.keys[numbering.of(func, this.functions, colouring)];
    });
  }

  // Keys with their self values, most first; the root's own value has no key.
  sums(colouring: Colouring, sums: FunctionSums): GroupSums[] {
    const numbering = this.colourings[COLOURINGS.indexOf(colouring)];
    const groups = new Map<number, GroupSums>();
    const most = new Map<number, number>();
    for (let func = 1; func < this.functions.count; ++func) {
      if (sums.instances[func] === 0) continue;
      const value = sums.self.reduce((sum, self) => sum + self[func], 0);
      const group = numbering.of(func, this.functions, colouring);
      let entry = groups.get(group);
      if (entry === undefined) {
        entry = { key: numbering.keys[group], self: sums.self.map(() => 0), func };
        groups.set(group, entry);
      }
      for (let side = 0; side < sums.self.length; ++side) entry.self[side] += sums.self[side][func];
      if (value > (most.get(group) ?? 0)) {
        most.set(group, value);
        entry.func = func;
      }
    }
    const weight = (entry: GroupSums): number => entry.self.reduce((sum, value) => sum + value, 0);
    return [...groups.values()].sort(
      (a, b) => weight(b) - weight(a) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0),
    );
  }

  // By function: 1 = its key is one of these. Functions that are not in use are left 0.
  select(colouring: Colouring, keys: string[], sums: FunctionSums): Uint8Array {
    const numbering = this.colourings[COLOURINGS.indexOf(colouring)];
    const marks = new Uint8Array(this.functions.count);
    const wanted = new Set(keys);
    for (let func = 1; func < marks.length; ++func) {
      if (sums.instances[func] === 0) continue;
      const group = numbering.of(func, this.functions, colouring);
      if (wanted.has(numbering.keys[group])) marks[func] = 1;
    }
    return marks;
  }
}

// Numbers the keys of one colouring.
class Numbering {
  readonly keys: string[] = [];
  private readonly numbers = new Map<string, number>();
  private group = new Int32Array(0); // by function: number + 1; 0 = not known yet

  of(func: number, functions: FunctionTable, colouring: Colouring): number {
    if (func >= this.group.length) {
      const grown = new Int32Array(functions.count);
      grown.set(this.group);
      this.group = grown;
    }
    if (this.group[func] === 0) {
      const key = groupOf(groupedFunction(functions, func), colouring);
      let number = this.numbers.get(key);
      if (number === undefined) {
        number = this.keys.push(key) - 1;
        this.numbers.set(key, number);
      }
      this.group[func] = number + 1;
    }
    return this.group[func] - 1;
  }
}

function groupedFunction(functions: FunctionTable, func: number): GroupedFunction {
  return {
    name: functions.name(func),
    image: functions.image(func),
    file: functions.file(func),
    kind: functions.kind(func),
  };
}
