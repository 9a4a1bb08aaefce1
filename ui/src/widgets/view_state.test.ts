import { test } from "node:test";
import assert from "node:assert/strict";
import { initialState, stateFromText, stateToText, type ViewState } from "./view_state";

test("the initial state needs no text", () => {
  assert.equal(stateToText(initialState()), "");
  assert.deepEqual(stateFromText(""), initialState());
});

test("every choice survives the address", () => {
  const hostile = { name: "a&b=#\"<x>\n%20é", image: "/lib/we ird.so" };
  const state: ViewState = {
    valueType: 2, zoom: "1f2e", rest: { below: 12.5, from: 3, to: 9 }, sandwich: hostile,
    transforms: [
      { kind: "focus", on: hostile },
      { kind: "focusNode", path: [hostile, { name: "", image: "" }] },
      { kind: "keep", on: hostile },
      { kind: "hideStacks", on: hostile },
      { kind: "merge", on: hostile },
      { kind: "collapseRecursion", on: null },
      { kind: "collapseRecursion", on: hostile },
      { kind: "collapseLibrary", image: "/lib/x.so" },
      { kind: "foldChains" },
    ],
    query: { text: "^std::.*<", regexp: true, matchCase: true },
    colouring: "package", groups: ["a,b", "c"], layout: "both", rootBelow: true,
    comparison: "normalized", widthBy: "after", order: "selfDiff", descending: false,
    matchesOnly: true, details: true, theme: "dark",
  };
  assert.deepEqual(stateFromText("#" + stateToText(state)), state);
});

test("a damaged address is read as far as it makes sense", () => {
  const state = stateFromText("#rest=1,x,3&of=[1,2]&do=[&do=[\"merge\"]&do=[\"foldChains\"]"
    + "&layout=z&type=-1&colour=pink&order=size&q=main");
  assert.deepEqual(state, {
    ...initialState(),
    transforms: [{ kind: "foldChains" }],
    query: { text: "main", regexp: false, matchCase: false },
  });
});
