import { test } from "node:test";
import assert from "node:assert/strict";
import { WorkQueue } from "./work_queue";

const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 5));

test("what matters most goes first, what was added twice runs once", async () => {
  const done: string[] = [];
  const busy: boolean[] = [];
  const queue = new WorkQueue(["search", "layout", "table"] as const, async (task) => {
    done.push(task);
    if (task === "search" && done.length === 1) {
      queue.add("search", "table", "search");
    }
    await Promise.resolve();
  }, { busy: (isBusy) => busy.push(isBusy), failed: () => assert.fail() });
  queue.add("table", "layout", "search");
  await settle();
  assert.deepEqual(done, ["search", "search", "layout", "table"]);
  assert.deepEqual(busy, [true, false]);
});

test("one that fails does not stop the others", async () => {
  const done: string[] = [];
  const failed: unknown[] = [];
  const queue = new WorkQueue(["one", "two"] as const, async (task) => {
    if (task === "one") {
      throw new Error("no");
    }
    done.push(task);
    await Promise.resolve();
  }, { busy: () => undefined, failed: (error) => failed.push(error) });
  queue.add("one", "two");
  await settle();
  assert.deepEqual(done, ["two"]);
  assert.equal(failed.length, 1);
});

test("who waits for a task is told when it has run, not before", async () => {
  const seen: string[] = [];
  const queue = new WorkQueue(["search", "layout"] as const, async (task) => {
    await Promise.resolve();
    seen.push(task);
  }, { busy: () => undefined, failed: () => assert.fail() });
  await queue.whenDone("search");
  queue.add("search", "layout");
  const waited = queue.whenDone("search").then(() => seen.push("told"));
  assert.deepEqual(seen, []);
  await waited;
  await settle();
  assert.deepEqual(seen, ["search", "told", "layout"]);
});
