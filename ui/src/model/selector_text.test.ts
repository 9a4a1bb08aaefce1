import assert from "node:assert/strict";
import { test } from "node:test";
import { narrowed, partsOf, textOfParts } from "./selector_text";

test("takes type, matchers and time apart, whatever stands in quotes", () => {
  const of = (text: string): (string | undefined)[] => {
    const parts = partsOf(text);
    return [parts?.type, parts?.matchers, parts?.range];
  };
  assert.deepEqual(of(""), ["", "", ""]);
  assert.deepEqual(of("cpu"), ["cpu", "", ""]);
  assert.deepEqual(of("cpu:nanoseconds @-2h..-1h"), ["cpu:nanoseconds", "", "-2h..-1h"]);
  assert.deepEqual(of('cpu{service="a}@b", version=`\\`}@-1h'),
    ["cpu", 'service="a}@b", version=`\\`', "-1h"]);
  assert.deepEqual(of('{service="a\\"}"}'), ["", 'service="a\\"}"', ""]);
  for (const text of ['cpu{service="a', "cpu{", 'cpu{service="a}']) {
    assert.equal(partsOf(text), null, text);
  }
  assert.equal(textOfParts({ type: "cpu", matchers: 'a="b"', range: "-1h" }), 'cpu{a="b"}@-1h');
});

test("what was clicked becomes a matcher", () => {
  assert.equal(narrowed("", "service", []), "");
  assert.equal(narrowed("", "service", ["shop"]), '{service="shop"}');
  assert.equal(narrowed('cpu{node="a",}', "service", ["shop"]), 'cpu{node="a",service="shop"}');
  assert.equal(narrowed("cpu@-2h", "service", [""]), 'cpu{service=""}@-2h');
  assert.equal(narrowed("cpu{", "service", ["shop"]), "cpu{", "the server says what is wrong");
});

test("several become a pattern in which their letters mean themselves", () => {
  assert.equal(narrowed("cpu", "version", ["1.0", 'a"b', "c\nd"]),
    'cpu{version=~"1\\\\.0|a\\"b|c\\nd"}');
});
