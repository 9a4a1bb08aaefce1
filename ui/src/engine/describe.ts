// What the page is told of a function, and of the document.

import { ColourGroups } from "../model/colour_groups";
import { FunctionTable } from "../model/functions";
import { FunctionInfo } from "./protocol";

// Gives out each function once: a page keeps what it was told.
export class FunctionTeller {
  private readonly functions: FunctionTable;
  private readonly groups: ColourGroups;
  private told = new Uint8Array(0);

  constructor(functions: FunctionTable, groups: ColourGroups) {
    this.functions = functions;
    this.groups = groups;
  }

  // Those of `funcs` (negative ones are skipped) that were not told before.
  news(funcs: Int32Array): FunctionInfo[] {
    if (this.told.length < this.functions.count) {
      const told = new Uint8Array(this.functions.count);
      told.set(this.told);
      this.told = told;
    }
    const news: FunctionInfo[] = [];
    for (const func of funcs) {
      if (func < 0 || this.told[func] === 1) continue;
      this.told[func] = 1;
      news.push(describeFunction(this.functions, this.groups, func));
    }
    return news;
  }
}

export function describeFunction(
  functions: FunctionTable,
  groups: ColourGroups,
  func: number,
): FunctionInfo {
  return {
    func,
    name: functions.name(func),
    image: functions.image(func),
    file: functions.file(func),
    startLine: functions.startLine(func),
    kind: functions.kind(func),
    inlined: functions.inlined(func),
    groups: groups.keysOf(func),
  };
}
