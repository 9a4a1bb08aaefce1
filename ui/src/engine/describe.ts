// What the page is told of a function, and of the document.

import { FunctionTable } from "../model/functions";
import { groupsOf } from "../model/groups";
import { FunctionInfo } from "./protocol";

// Gives out each function once: a page keeps what it was told.
export class FunctionTeller {
  private readonly functions: FunctionTable;
  private told = new Uint8Array(0);

  constructor(functions: FunctionTable) {
    this.functions = functions;
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
      news.push(describeFunction(this.functions, func));
    }
    return news;
  }
}

export function describeFunction(functions: FunctionTable, func: number): FunctionInfo {
  const described = {
    func,
    name: functions.name(func),
    image: functions.image(func),
    file: functions.file(func),
    startLine: functions.startLine(func),
    kind: functions.kind(func),
    inlined: functions.inlined(func),
  };
  return { ...described, groups: groupsOf(described) };
}
