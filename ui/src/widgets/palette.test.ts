import { test } from "node:test";
import assert from "node:assert/strict";
import { contrast, oklch } from "./colour";
import { changeStyle, DIM, FADED, isHatched, KeyStyles, NORMAL, relativeChange, STYLE_COUNT,
  styleColours, type Theme } from "./palette";

const THEMES: Theme[] = ["light", "dark"];

test("every text can be read on its box, in both themes", () => {
  for (const theme of THEMES) {
    for (let style = 0; style < STYLE_COUNT; style++) {
      for (const variant of [NORMAL, DIM, FADED]) {
        const { fill, text } = styleColours(theme, style, variant);
        assert.ok(contrast(fill, text) >= 4.5, `${theme} ${style} ${variant}`);
      }
    }
  }
});

test("a key keeps its colour whatever stands beside it, while its place is free", () => {
  const one = new KeyStyles();
  const other = new KeyStyles();
  other.slotOf("libz.so.1", "native");
  const slot = one.slotOf("/usr/bin/postgres", "native");
  assert.equal(one.slotOf("/usr/bin/postgres", "native"), slot);
  assert.equal(other.slotOf("/usr/bin/postgres", "native"), slot);
});

test("as many keys as the wheel has places look different", () => {
  const styles = new KeyStyles();
  const seen = new Set<number>();
  for (let i = 0; i < 26; i++) {
    seen.add(styles.slotOf(`lib${i}.so`, "native"));
  }
  assert.equal(seen.size, 26);
  assert.ok(seen.has(styles.slotOf("one more", "native")));
});

test("kernel is orange, and nothing else is", () => {
  const styles = new KeyStyles();
  const { fill } = styleColours("light", styles.swatchOf("kernel", "kernel"), NORMAL);
  assert.ok(fill.r > fill.g && fill.g > fill.b);
  for (let i = 0; i < 26; i++) {
    const other = styles.slotOf(`lib${i}.so`, "native");
    assert.notEqual(other, styles.slotOf("kernel", "kernel"));
  }
});

test("less is blue, more is orange, the same is neither", () => {
  const less = styleColours("light", changeStyle(-0.5), NORMAL).fill;
  const more = styleColours("light", changeStyle(0.5), NORMAL).fill;
  const same = styleColours("light", changeStyle(0), NORMAL).fill;
  assert.ok(less.b > less.r + 30 && more.r > more.b + 30);
  assert.ok(Math.abs(same.r - same.b) < 6);
  assert.notEqual(changeStyle(0.001), changeStyle(0));
  assert.equal(changeStyle(1), changeStyle(7));
});

test("code without a name has its binary's hue, hatched", () => {
  const styles = new KeyStyles();
  const named = styles.styleOf("libz.so.1", "native", "inflate");
  const unnamed = styles.styleOf("libz.so.1", "unnamed", "inflate");
  assert.ok(isHatched(unnamed) && !isHatched(named));
  assert.deepEqual(styleColours("dark", named, NORMAL), styleColours("dark", unnamed, NORMAL));
});

test("change is measured against the larger side", () => {
  assert.equal(relativeChange(0, 5), 1);
  assert.equal(relativeChange(5, 0), -1);
  assert.equal(relativeChange(10, 20), 0.5);
  assert.equal(relativeChange(0, 0), 0);
});

test("OKLCH without chroma is grey", () => {
  const grey = oklch(0.6, 0, 123);
  assert.ok(Math.abs(grey.r - grey.g) <= 1 && Math.abs(grey.g - grey.b) <= 1);
});

test("no binary has a colour near the kernel's", () => {
  const kernels = ["kernel", "[kernel]", "vmlinux", "nf_tables", "ext4"];
  for (const theme of THEMES) {
    const styles = new KeyStyles();
    for (let i = 0; i < 26; i++) {
      const { fill } = styleColours(theme, styles.swatchOf(`lib${i}.so`, "native"), NORMAL);
      for (const key of kernels) {
        const kernel = styleColours(theme, styles.swatchOf(key, "kernel"), NORMAL).fill;
        const most = Math.max(Math.abs(fill.r - kernel.r), Math.abs(fill.g - kernel.g),
          Math.abs(fill.b - kernel.b));
        assert.ok(most >= 30, `${theme} ${i} ${key}: ${most}`);
      }
    }
  }
});
