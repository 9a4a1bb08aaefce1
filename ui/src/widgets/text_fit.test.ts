import { test } from "node:test";
import assert from "node:assert/strict";
import { TextFit } from "./text_fit";

const cut = (name: string, most: number): string =>
  name.length <= most ? name : name.slice(0, most - 1) + "…";

function tenPx(): { fit: TextFit; measured: string[] } {
  const measured: string[] = [];
  const measure = (character: string): number => {
    measured.push(character);
    return character === "i" ? 4 : 10;
  };
  return { fit: new TextFit(measure, cut), measured };
}

test("a name that fits is whole, one that does not is shortened to the room", () => {
  const { fit } = tenPx();
  assert.equal(fit.fit("mean", 48), "mean");
  assert.equal(fit.fit("meanings", 58), "mean…");
  assert.equal(fit.fit("iiii", 24), "iiii");
});

test("a letter and dots are not worth reading", () => {
  const { fit } = tenPx();
  assert.equal(fit.fit("meanings", 40), "");
});

test("nothing is written into narrow boxes", () => {
  const { fit } = tenPx();
  assert.equal(fit.fit("i", 23.9), "");
});

test("no text is wider than its room", () => {
  const { fit } = tenPx();
  for (let width = 24; width < 300; width += 7) {
    const text = fit.fit("std::vector<int>::push_back(int const&)", width);
    assert.ok(fit.widthOf(text) <= width - 8, `${width}: ${text}`);
  }
});

test("each character is measured once", () => {
  const { fit, measured } = tenPx();
  fit.fit("aab€€", 500);
  fit.fit("ba€", 500);
  assert.deepEqual(measured, ["a", "b", "€"]);
});
