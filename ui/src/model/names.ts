// Names made shorter for narrow boxes: what says least goes first. Parameters, then template
// arguments, then packages and namespaces from the left; at last the middle of what is left.

const ELLIPSIS = "…";
const SHORTEST = 3; // fewer characters say nothing

// The name in at most so many characters (UTF-16 units); "" when that is too few to say anything.
// Cost: a few passes over the name.
export function shortenName(name: string, charactersMax: number): string {
  if (name.length <= charactersMax) return name;
  if (charactersMax < SHORTEST) return "";
  const bare = withoutParameters(name);
  if (bare.length <= charactersMax) return bare;
  const plain = withoutArguments(bare);
  if (plain.length <= charactersMax) return plain;
  const last = lastParts(plain, charactersMax);
  return last.length <= charactersMax ? last : cutMiddle(last, charactersMax);
}

// "f(int, char)::g(long) const" -> "f(int, char)::g". "operator()" keeps its own.
function withoutParameters(name: string): string {
  const end = name.lastIndexOf(")");
  if (end < 0 || /[^\sA-Za-z&\]]/.test(name.slice(end + 1))) return name;
  let depth = 0;
  for (let i = end; i > 0; --i) {
    if (name[i] === ")") ++depth;
    else if (name[i] === "(" && --depth === 0) {
      return name.endsWith("operator", i) ? name : name.slice(0, i);
    }
  }
  return name;
}

// "a<b<c>>::d<e>" -> "a::d". What is not balanced ("operator<", "<init>") stays.
function withoutArguments(name: string): string {
  let out = "";
  let depth = 0;
  let open = 0;
  for (let i = 0; i < name.length; ++i) {
    const c = name[i];
    if (c === "<" && (depth > 0 || (i > 0 && /[\w$]/.test(name[i - 1]) && !out.endsWith("operator")))) {
      if (depth++ === 0) open = i;
    } else if (c === ">" && depth > 0 && name[i - 1] !== "-") {
      --depth;
    } else if (depth === 0) {
      out += c;
    }
  }
  return depth === 0 && out !== "" ? out : out + name.slice(open);
}

// The longest end that begins after a separator and fits; else the last part alone.
function lastParts(name: string, charactersMax: number): string {
  let shortest = name;
  for (const separator of name.matchAll(/::|\.(?=[A-Za-z_$])|\/(?=.)/g)) {
    if (separator.index === 0) continue; // ".text", "/a/b": no package
    const rest = name.slice((separator.index ?? 0) + separator[0].length);
    if (rest.length < SHORTEST) break;
    shortest = rest;
    if (rest.length <= charactersMax) break;
  }
  return shortest;
}

function cutMiddle(name: string, charactersMax: number): string {
  const kept = charactersMax - 1;
  // The beginning says more than the end.
  const atEnd = kept < 8 ? 0 : Math.floor(kept / 3);
  const head = wholeCharacters(name.slice(0, kept - atEnd));
  return head + ELLIPSIS + (atEnd > 0 ? name.slice(name.length - atEnd).replace(/^[\udc00-\udfff]/, "") : "");
}

// Without half a surrogate pair at the end.
function wholeCharacters(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, "");
}
