// Which functions a query names.

import { FunctionTable } from "./functions";
import { SearchQuery } from "./nouns";

// Cost: keeps all strings once more in lower case after the first search that ignores case.
export class NameSearch {
  private readonly functions: FunctionTable;
  private lowerText: string | null = null;
  private isName: Uint8Array | null = null; // by string

  constructor(functions: FunctionTable) {
    this.functions = functions;
  }

  // Prepares what the first search would have to make.
  warm(): void {
    this.lower();
    this.names();
  }

  // What is wrong with a regular expression, or null.
  errorOf(query: SearchQuery): string | null {
    if (!query.regexp) return null;
    try {
      regexpOf(query);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  // By function: 1 = its name matches. A folded chain matches when a part of it does; the root
  // never does. The query is not empty, and has no error.
  match(query: SearchQuery): Uint8Array {
    const marks = new Uint8Array(this.functions.count);
    const strings = query.regexp ? this.matchRegexp(regexpOf(query)) : this.matchText(query);
    const { name, count } = this.functions.columns;
    for (let func = 1; func < count; ++func) marks[func] = strings[name[func]];
    this.matchLibraries(testOf(query), marks);
    this.functions.markChains(marks);
    return marks;
  }

  private matchLibraries(test: (name: string) => boolean, marks: Uint8Array): void {
    for (let func = this.functions.columns.count; func < this.functions.count; ++func) {
      if (this.functions.isLibrary(func) && test(this.functions.name(func))) marks[func] = 1;
    }
  }

  private matchRegexp(regexp: RegExp): Uint8Array {
    const strings = this.functions.strings;
    const names = this.names();
    const marks = new Uint8Array(strings.count);
    for (let i = 0; i < marks.length; ++i) {
      if (names[i] === 1 && regexp.test(strings.at(i))) marks[i] = 1;
    }
    return marks;
  }

  // Searches the whole text at once, then tells which string each hit is in.
  private matchText(query: SearchQuery): Uint8Array {
    const { text, starts, count } = this.functions.strings;
    const marks = new Uint8Array(count);
    const whole = query.matchCase ? text : this.lower();
    const wanted = query.matchCase ? query.text : query.text.toLowerCase();
    if (whole.length !== text.length) return this.matchEach(wanted, marks);
    let string = 0;
    for (let at = whole.indexOf(wanted); at >= 0; ) {
      string = stringAt(starts, at, string);
      const inside = at + wanted.length <= starts[string + 1];
      if (inside) marks[string] = 1;
      const from = inside ? starts[string + 1] : at + 1;
      if (from >= whole.length) break;
      at = whole.indexOf(wanted, from);
    }
    return marks;
  }

  // For the few texts whose length changes with their case.
  private matchEach(wanted: string, marks: Uint8Array): Uint8Array {
    const strings = this.functions.strings;
    for (let i = 0; i < marks.length; ++i) {
      if (strings.at(i).toLowerCase().includes(wanted)) marks[i] = 1;
    }
    return marks;
  }

  private lower(): string {
    if (this.lowerText === null) this.lowerText = this.functions.strings.text.toLowerCase();
    return this.lowerText;
  }

  private names(): Uint8Array {
    if (this.isName === null) {
      const { name, count } = this.functions.columns;
      this.isName = new Uint8Array(this.functions.strings.count);
      for (let func = 1; func < count; ++func) this.isName[name[func]] = 1;
    }
    return this.isName;
  }
}

function regexpOf(query: SearchQuery): RegExp {
  return new RegExp(query.text, query.matchCase ? "" : "i");
}

function testOf(query: SearchQuery): (name: string) => boolean {
  if (query.regexp) {
    const regexp = regexpOf(query);
    return (name) => regexp.test(name);
  }
  if (query.matchCase) return (name) => name.includes(query.text);
  const wanted = query.text.toLowerCase();
  return (name) => name.toLowerCase().includes(wanted);
}

// The string that holds a place of the text; `from`: one that does not begin after it.
function stringAt(starts: Uint32Array, place: number, from: number): number {
  let low = from;
  let high = starts.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (starts[middle] <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
