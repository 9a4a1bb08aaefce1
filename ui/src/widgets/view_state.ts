// What the reader chose, as a value, and as text for the part of the address behind "#": so that a
// link, a reload and the way back show the same picture. Functions are written by name, nodes by
// the hash of their path, both of which outlive a change of numbers.
import { COLOURINGS, type Colouring, type Comparison, type SearchQuery, type TableOrder,
  type WidthBy } from "../engine/protocol";

export type ColouringChoice = Colouring | "difference";
export type LayoutChoice = "graph" | "both" | "table";
export type ThemeChoice = "auto" | "light" | "dark";

export interface FunctionName {
  name: string;
  image: string;
}

export type NamedTransform =
  | { kind: "focus" | "keep" | "hideStacks" | "merge"; on: FunctionName }
  | { kind: "focusNode"; path: FunctionName[] }
  | { kind: "collapseRecursion"; on: FunctionName | null }
  | { kind: "collapseLibrary"; image: string }
  | { kind: "foldChains" };

export interface RestZoom {
  below: number;
  from: number;
  to: number;
}

export interface ViewState {
  valueType: number | null; // null = the document's default
  zoom: string; // address of the node, "" = the root
  rest: RestZoom | null; // of the node: the part that a rest box gathered
  sandwich: FunctionName | null;
  transforms: NamedTransform[];
  query: SearchQuery;
  colouring: ColouringChoice | null; // null = difference, binary or package: what tells most
  groups: string[];
  layout: LayoutChoice;
  rootBelow: boolean;
  comparison: Comparison;
  widthBy: WidthBy;
  order: TableOrder | null;
  descending: boolean;
  matchesOnly: boolean;
  details: boolean;
  theme: ThemeChoice;
}

export function initialState(): ViewState {
  return {
    valueType: null, zoom: "", rest: null, sandwich: null, transforms: [],
    query: { text: "", regexp: false, matchCase: false },
    colouring: null, groups: [], layout: "graph", rootBelow: false,
    comparison: "absolute", widthBy: "both", order: null, descending: true, matchesOnly: false,
    details: false, theme: "auto",
  };
}

const ORDERS: readonly TableOrder[] = ["name", "self", "total", "image", "selfDiff", "totalDiff",
  "selfSigned", "totalSigned"];
const FUNCTION_KINDS = ["focus", "keep", "hideStacks", "merge"] as const;

// One function as two list items; the list is JSON, so names may hold any character.
function transformToList(transform: NamedTransform): (string | null)[] {
  switch (transform.kind) {
    case "focusNode":
      return [transform.kind, ...transform.path.flatMap((step) => [step.name, step.image])];
    case "collapseRecursion":
      return transform.on === null
        ? [transform.kind]
        : [transform.kind, transform.on.name, transform.on.image];
    case "collapseLibrary":
      return [transform.kind, transform.image];
    case "foldChains":
      return [transform.kind];
    default:
      return [transform.kind, transform.on.name, transform.on.image];
  }
}

function transformFromList(list: string[]): NamedTransform | null {
  const kind = list[0];
  const on: FunctionName = { name: list[1] ?? "", image: list[2] ?? "" };
  for (const one of FUNCTION_KINDS) {
    if (kind === one) {
      return list.length === 3 ? { kind: one, on } : null;
    }
  }
  switch (kind) {
    case "focusNode": {
      const path: FunctionName[] = [];
      for (let i = 1; i + 1 < list.length; i += 2) {
        path.push({ name: list[i], image: list[i + 1] });
      }
      return path.length > 0 ? { kind, path } : null;
    }
    case "collapseRecursion":
      return { kind, on: list.length === 3 ? on : null };
    case "collapseLibrary":
      return list.length === 2 ? { kind, image: list[1] } : null;
    case "foldChains":
      return { kind };
    default:
      return null;
  }
}

// Only what differs from the initial state is written.
export function stateToText(state: ViewState): string {
  const params = new URLSearchParams();
  const put = (key: string, value: string, isSet: boolean): void => {
    if (isSet) {
      params.set(key, value);
    }
  };
  put("type", String(state.valueType), state.valueType !== null);
  put("zoom", state.zoom, state.zoom !== "");
  if (state.rest !== null) {
    params.set("rest", `${state.rest.below},${state.rest.from},${state.rest.to}`);
  }
  if (state.sandwich !== null) {
    params.set("of", JSON.stringify([state.sandwich.name, state.sandwich.image]));
  }
  for (const transform of state.transforms) {
    params.append("do", JSON.stringify(transformToList(transform)));
  }
  put("q", state.query.text, state.query.text !== "");
  put("regexp", "1", state.query.regexp);
  put("case", "1", state.query.matchCase);
  put("colour", state.colouring ?? "", state.colouring !== null);
  for (const key of state.groups) {
    params.append("only", key);
  }
  put("layout", state.layout, state.layout !== "graph");
  put("root", "below", state.rootBelow);
  put("compare", state.comparison, state.comparison !== "absolute");
  put("width", state.widthBy, state.widthBy !== "both");
  put("order", state.order ?? "", state.order !== null);
  put("up", "1", !state.descending);
  put("matches", "1", state.matchesOnly);
  put("details", "1", state.details);
  put("theme", state.theme, state.theme !== "auto");
  return params.toString();
}

function oneOf<T extends string>(value: string | null, allowed: readonly T[], otherwise: T): T {
  return allowed.find((one) => one === value) ?? otherwise;
}

function stringsOf(json: string): string[] {
  try {
    const list: unknown = JSON.parse(json);
    return Array.isArray(list) && list.every((one) => typeof one === "string") ? list : [];
  } catch {
    return [];
  }
}

function numberOf(text: string | null): number | null {
  const value = text === null || text === "" ? NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : null;
}

// Errors: what cannot be read is as if it were not there; links come from anywhere.
export function stateFromText(text: string): ViewState {
  const params = new URLSearchParams(text.replace(/^#/, ""));
  const state = initialState();
  state.valueType = numberOf(params.get("type"));
  state.zoom = params.get("zoom") ?? "";
  const rest = (params.get("rest") ?? "").split(",").map(numberOf);
  const [below, from, to] = rest;
  if (rest.length === 3 && below !== null && from !== null && to !== null) {
    state.rest = { below, from, to };
  }
  const sandwich = stringsOf(params.get("of") ?? "");
  if (sandwich.length === 2) {
    state.sandwich = { name: sandwich[0], image: sandwich[1] };
  }
  for (const one of params.getAll("do")) {
    const transform = transformFromList(stringsOf(one));
    if (transform !== null) {
      state.transforms.push(transform);
    }
  }
  state.query = {
    text: params.get("q") ?? "", regexp: params.has("regexp"), matchCase: params.has("case"),
  };
  const colour = params.get("colour");
  state.colouring = colour === "difference"
    ? "difference" : COLOURINGS.find((one) => one === colour) ?? null;
  state.groups = params.getAll("only");
  state.layout = oneOf(params.get("layout"), ["graph", "both", "table"], "graph");
  state.rootBelow = params.get("root") === "below";
  state.comparison = oneOf(params.get("compare"), ["absolute", "normalized"], "absolute");
  state.widthBy = oneOf(params.get("width"), ["both", "before", "after"], "both");
  state.order = ORDERS.find((one) => one === params.get("order")) ?? null;
  state.descending = !params.has("up");
  state.matchesOnly = params.has("matches");
  state.details = params.has("details");
  state.theme = oneOf(params.get("theme"), ["auto", "light", "dark"], "auto");
  return state;
}
