// Selectors of the query language as text: taken apart as far as needed to add what was clicked.
// The server is who understands them: docs/api.md.

export interface SelectorParts {
  type: string; // "cpu", "cpu:nanoseconds", ""
  matchers: string; // between the braces
  range: string; // behind "@"; "" = none
}

// null = its quotes or braces do not close: the server says what is wrong with it.
export function partsOf(text: string): SelectorParts | null {
  const end = { type: text.length, open: -1, close: -1, at: -1 };
  for (let i = 0; i < text.length; ++i) {
    const c = text[i];
    if (c === '"' || c === "`") {
      i = quoteEnd(text, i);
      if (i < 0) return null;
    } else if (c === "{" && end.open < 0 && end.at < 0) {
      end.open = i;
    } else if (c === "}" && end.open >= 0 && end.close < 0) {
      end.close = i;
    } else if (c === "@" && end.at < 0 && (end.open >= 0) === (end.close >= 0)) {
      end.at = i;
    }
  }
  if ((end.open >= 0) !== (end.close >= 0)) return null;
  if (end.at >= 0) end.type = end.at;
  if (end.open >= 0) end.type = end.open;
  return {
    type: text.slice(0, end.type).trim(),
    matchers: end.open < 0 ? "" : text.slice(end.open + 1, end.close).trim(),
    range: end.at < 0 ? "" : text.slice(end.at + 1).trim(),
  };
}

// Where the quote that begins at `begin` ends; -1 = nowhere.
function quoteEnd(text: string, begin: number): number {
  for (let i = begin + 1; i < text.length; ++i) {
    if (text[i] === "\\" && text[begin] === '"') ++i;
    else if (text[i] === text[begin]) return i;
  }
  return -1;
}

export function textOfParts(parts: SelectorParts): string {
  const matchers = parts.matchers === "" ? "" : `{${parts.matchers}}`;
  return parts.type + matchers + (parts.range === "" ? "" : `@${parts.range}`);
}

// The selector, and of that only what has one of the values. Text that cannot be read comes back as
// it is. "" as a value: what lacks the label.
export function narrowed(text: string, label: string, values: readonly string[]): string {
  const parts = partsOf(text);
  if (parts === null || values.length === 0) return text;
  const matcher = values.length === 1
    ? `${label}=${quoted(values[0])}`
    : `${label}=~${quoted(values.map(escapedPattern).join("|"))}`;
  const matchers = parts.matchers.replace(/,$/, "");
  return textOfParts({ ...parts, matchers: matchers === "" ? matcher : `${matchers},${matcher}` });
}

function quoted(text: string): string {
  const escapes: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return `"${text.replace(/["\\\n\r\t]/g, (c) => escapes[c] ?? `\\${c}`)}"`;
}

function escapedPattern(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}
