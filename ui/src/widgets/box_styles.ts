// The colour style of each box, from the colouring that is chosen.
import { COLOURINGS, type Boxes, type Colouring, type DocumentInfo, type LegendEntry }
  from "../engine/protocol";
import { isWithinNoise } from "../model/difference";
import { changeStyle, KeyStyles, relativeChange } from "./palette";
import type { Functions } from "./scene";
import type { ColouringChoice } from "./view_state";

export class BoxStyles {
  keys = new KeyStyles();
  private byFunction = new Int16Array(0); // -1 = not known yet
  private colouring: Colouring = "binary";

  constructor(private readonly functions: Functions) {}

  // entries: heaviest first; they choose their hues first. Those that have one keep it.
  setColouring(colouring: Colouring, entries: readonly LegendEntry[]): void {
    if (colouring !== this.colouring) {
      this.colouring = colouring;
      this.keys = new KeyStyles();
    }
    this.byFunction.fill(-1);
    for (const entry of entries) {
      this.keys.slotOf(entry.key, entry.kind);
    }
  }

  ofFunction(func: number): number {
    if (func >= this.byFunction.length) {
      const larger = new Int16Array(Math.max(1024, 2 * (func + 1))).fill(-1);
      larger.set(this.byFunction);
      this.byFunction = larger;
    }
    let style = this.byFunction[func];
    if (style < 0) {
      const info = this.functions.get(func);
      const key = info?.groups[COLOURINGS.indexOf(this.colouring)] ?? "";
      style = this.keys.styleOf(key, info?.kind ?? "other", info?.name ?? "");
      this.byFunction[func] = style;
    }
    return style;
  }

  styleOf(choice: ColouringChoice, boxes: Boxes, noise: NoiseScale): (box: number) => number {
    if (choice !== "difference" || boxes.total.length !== 2) {
      return (box) => this.ofFunction(boxes.func[box]);
    }
    const [before, after] = boxes.total;
    return (box) => isWithinNoise(before[box], after[box], noise)
      ? changeStyle(0) : changeStyle(relativeChange(before[box], after[box]));
  }
}

// Value of one sample on each side, as the picture scales the sides.
export type NoiseScale = number[];

export function noiseScaleOf(info: DocumentInfo, isNormalized: boolean): NoiseScale {
  const perSample = info.valueTypes[info.valueType]?.perSample ?? 0;
  const [before, after] = info.totals;
  const scale = isNormalized && before > 0 && after > 0 ? before / after : 1;
  return [perSample, perSample * scale];
}
