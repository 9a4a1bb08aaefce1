// Names of functions made shorter, so that what tells them apart stays.

const ELLIPSIS = "…";
const OFFSET = /\+0x[0-9a-f]+$/; // a binary and an address
const AFTER_PARAMETERS = /^\)( const| volatile| noexcept| ?&&?| \[[^\]]*\])*$/;

// The longest form of a name that has at most `width` characters (UTF-16 units); "" when there is
// no room for even two. First go parameters and template arguments, then packages and namespaces
// from the left, then the middle of what is left.
export function shortenName(name: string, width: number): string {
  if (name.length <= width) return name;
  if (width < 2) return "";
  const withoutParameters = dropParameters(name);
  if (withoutParameters.length <= width) return withoutParameters;
  const plain = dropArguments(withoutParameters);
  if (plain.length <= width) return plain;
  if (OFFSET.test(plain)) return cutMiddle(plain, width);
  for (const begin of scopeBegins(plain)) {
    const at = plain[begin] === "." ? begin + 1 : begin; // the ellipsis has dots enough
    if (plain.length - at + ELLIPSIS.length <= width) return ELLIPSIS + plain.slice(at);
  }
  const begins = scopeBegins(plain);
  const last = begins.length > 0 ? plain.slice(begins[begins.length - 1]) : plain;
  return cutMiddle(last.replace(/^(::|[./])/, ""), width);
}

// Keeps the beginning and the end. Never parts a surrogate pair.
export function cutMiddle(text: string, width: number): string {
  if (text.length <= width) return text;
  if (width < 2) return "";
  let head = Math.ceil((width - 1) / 2);
  let tail = text.length - (width - 1 - head);
  if (isLowSurrogate(text, head)) --head;
  if (isLowSurrogate(text, tail)) ++tail;
  return text.slice(0, head) + ELLIPSIS + text.slice(tail);
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return at > 0 && at < text.length && unit >= 0xdc00 && unit <= 0xdfff;
}

// Without the last pair of round brackets and what follows it (const, noexcept), unless the name
// goes on after it, as `(anonymous namespace)::f`, `main.(*T).f` and `f()::lambda` do.
function dropParameters(name: string): string {
  const open = parametersBegin(name);
  return open > 0 ? name.slice(0, open) : name;
}

// Where the parameters begin, or -1.
function parametersBegin(name: string): number {
  const close = name.lastIndexOf(")");
  if (close < 0 || !AFTER_PARAMETERS.test(name.slice(close))) return -1;
  let depth = 0;
  for (let at = close; at >= 0; --at) {
    const c = name[at];
    if (c === ")") ++depth;
    else if (c === "(" && --depth === 0) return name.endsWith("operator", at) ? -1 : at;
  }
  return -1;
}

// Without what stands in angle brackets, and in Go's square ones. Operators as `operator<` stay.
function dropArguments(name: string): string {
  let out = "";
  let depth = 0;
  for (let at = 0; at < name.length; ++at) {
    const c = name[at];
    if (depth === 0 && name.startsWith("operator", at) && /^operator[-<>=]/.test(name.slice(at))) {
      const operator = /^operator(->\*?|<=>|<<=|>>=|<<|>>|<=|>=|<|>|[-=]+)/.exec(name.slice(at));
      out += operator?.[0] ?? "operator";
      at += (operator?.[0].length ?? 8) - 1;
    } else if ((c === "<" && at > 0) || (c === "[" && /\w/.test(name[at - 1] ?? ""))) {
      ++depth;
    } else if ((c === ">" && name[at - 1] !== "-") || c === "]") {
      if (depth > 0) --depth;
      else out += c;
    } else if (depth === 0) {
      out += c;
    }
  }
  return depth === 0 && out !== "" ? out : name;
}

// The places where a shorter form can begin, each at its separator: `::Foo::bar`, `.Foo.bar`.
function scopeBegins(name: string): number[] {
  const begins: number[] = [];
  let depth = 0;
  for (let at = 1; at < name.length; ++at) {
    const c = name[at];
    if (c === "(" || c === "<" || c === "[") ++depth;
    else if (c === ")" || c === ">" || c === "]") depth = Math.max(0, depth - 1);
    else if (depth > 0) continue;
    else if (c === ":" && name[at + 1] === ":" && at + 2 < name.length) begins.push(at++);
    else if ((c === "/" || c === ".") && isPart(name, at)) begins.push(at);
  }
  return begins;
}

// Whether the separator has a name on both sides: not that of "a...b", ".part.0" or "1.5".
function isPart(name: string, at: number): boolean {
  return /[\w)\]$]/.test(name[at - 1]) && /[A-Za-z_(<$]/.test(name[at + 1] ?? "");
}
