// What goes between the page and the engine's thread.

import { PageDataError } from "../base/varint";
import { Engine } from "./protocol";

// The functions of the engine that are one question and one answer.
export type CallName = Exclude<keyof Engine, "load" | "loadText" | "dispose">;
export const CALL_NAMES: readonly CallName[] = [
  "setValueType",
  "setTransforms",
  "setSandwich",
  "layout",
  "search",
  "matchBeside",
  "widestMatch",
  "legend",
  "selectGroups",
  "details",
  "table",
  "stackNames",
  "addressOf",
  "nodeAt",
  "functionNamed",
];

// Data comes as any number of `text` (base64) or `bytes`, then `loaded`.
export type ToEngine =
  | { kind: "text"; text: string }
  | { kind: "bytes"; bytes: Uint8Array }
  | { kind: "loaded"; id: number }
  | { kind: "call"; id: number; name: CallName; args: unknown[] };

export type FromEngine =
  | { kind: "ready" }
  | { kind: "progress"; id: number; share: number }
  | { kind: "value"; id: number; value: unknown }
  | { kind: "error"; id: number; error: ErrorText };

// Errors lose their type on the way between threads.
export interface ErrorText {
  message: string;
  place: { section: string; byte: number; what: string } | null; // of a PageDataError
}

export function errorText(error: unknown): ErrorText {
  if (error instanceof PageDataError) {
    const { section, byte, what } = error;
    return { message: error.message, place: { section, byte, what } };
  }
  return { message: error instanceof Error ? error.message : String(error), place: null };
}

export function errorOf(text: ErrorText): Error {
  if (text.place === null) return new Error(text.message);
  return new PageDataError(text.place.section, text.place.byte, text.place.what);
}
