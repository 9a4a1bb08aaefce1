// Which colour a box has: one hue per key of the colouring (binary, kind, package, module), from a
// hash of the key, so that the same binary looks the same tomorrow and on the other screen; in a
// comparison, blue for less and orange for more, which the colour-blind tell apart too.
import type { FunctionKind } from "../engine/protocol";
import { REST_KEY } from "../model/groups";
import { contrast, css, mix, oklch, type Rgb } from "./colour";

export type Theme = "light" | "dark";

// How a box is painted; the style of a box is `style * VARIANTS + variant`.
export const NORMAL = 0;
export const DIM = 1; // not in the selection of search or legend
export const FADED = 2; // an ancestor of the zoomed node, or its subtree holds a match
export const VARIANTS = 3;

// Functions of one key differ a little in lightness, so that neighbours can be told apart.
const SHADES = 4;
const HATCHED = SHADES; // added to the shade: code without a name of its own
const PER_SLOT = 2 * SHADES;
const HUES = 13; // of the wheel without the kernel's orange
const TONES = 2;
const WHEEL = HUES * TONES;
const KERNEL_TONES = 3;
const CHANGE_STEPS = 20; // per direction

const SLOT_ROOT = 0;
const SLOT_PROCESS = 1;
const SLOT_UNNAMED = 2;
const SLOT_REST = 3;
const SLOT_KERNEL = 4;
const SLOT_WHEEL = SLOT_KERNEL + KERNEL_TONES;
const SLOT_CHANGE = SLOT_WHEEL + WHEEL;
const SLOT_COUNT = SLOT_CHANGE + Math.ceil((2 * CHANGE_STEPS + 1) / PER_SLOT);

export const STYLE_COUNT = SLOT_COUNT * PER_SLOT;
export const REST_STYLE = SLOT_REST * PER_SLOT + HATCHED + 1;

export interface Style {
  fill: string;
  text: string;
}

// FNV-1a, 32 bits.
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return (hash ^ (hash >>> 15)) >>> 0;
}

// The style of a relative change -1..1 (see `relativeChange`); 0 = within noise. The root of the
// share lets a change of a tenth be seen beside one of the whole.
export function changeStyle(change: number): number {
  const steps = Math.ceil(CHANGE_STEPS * Math.min(1, Math.pow(Math.abs(change), 0.6)) - 1e-9);
  return SLOT_CHANGE * PER_SLOT + CHANGE_STEPS + (change < 0 ? -steps : steps);
}

// -1 = gone, 0 = the same, 1 = new; a doubling is 0.5, a halving -0.5.
export function relativeChange(before: number, after: number): number {
  const most = Math.max(before, after);
  return most > 0 ? (after - before) / most : 0;
}

// Languages have colours of their own, so that two pages never disagree on them.
const KNOWN_PLACES: Record<string, number> = { native: 6, Go: 4, Python: 2, "Java/Kotlin": 11,
  JavaScript: 0, Ruby: 12, Rust: 10, PHP: 8, "generated code": 9 };

// Gives each key of one colouring its place on the wheel. Keys come heaviest first: those get the
// place of their hash, a later one that finds it taken goes on to a free place, while there is one.
export class KeyStyles {
  private readonly slots = new Map<string, number>();
  private readonly taken = new Uint8Array(WHEEL);
  private free = WHEEL;

  slotOf(key: string, kind: FunctionKind): number {
    const fixed = fixedSlot(kind, key);
    if (fixed >= 0) {
      return fixed;
    }
    let slot = this.slots.get(key);
    if (slot === undefined) {
      slot = this.place(KNOWN_PLACES[key] ?? hashOf(key) % WHEEL);
      this.slots.set(key, slot);
    }
    return SLOT_WHEEL + slot;
  }

  private place(wanted: number): number {
    if (this.free === 0) {
      return wanted;
    }
    let slot = wanted;
    while (this.taken[slot] !== 0) {
      slot = (slot + 11) % WHEEL; // has no divisor with WHEEL: visits all, far from the wanted hue
    }
    this.taken[slot] = 1;
    this.free--;
    return slot;
  }

  // Style of a function of this key; the shade comes from its name.
  styleOf(key: string, kind: FunctionKind, name: string): number {
    const hatched = kind === "unnamed" ? HATCHED : 0;
    return this.slotOf(key, kind) * PER_SLOT + hatched + ((hashOf(name) >>> 4) % SHADES);
  }

  // Style of the key's swatch in the legend.
  swatchOf(key: string, kind: FunctionKind): number {
    return this.slotOf(key, kind) * PER_SLOT + 1;
  }
}

function fixedSlot(kind: FunctionKind, key: string): number {
  switch (kind) {
    case "root":
      return SLOT_ROOT;
    case "process":
      return SLOT_PROCESS;
    case "unnamed":
      return key === "unnamed" ? SLOT_UNNAMED : -1;
    case "kernel":
      return SLOT_KERNEL + (hashOf(key) % KERNEL_TONES);
    default:
      return key === REST_KEY ? SLOT_REST : -1;
  }
}

interface ThemeColours {
  page: Rgb;
  ink: Rgb;
  paper: Rgb;
  wheel: { lightness: number; chroma: number }[]; // per tone
  grey: number; // lightness of process and root
  unnamed: number;
  rest: number;
  neutral: number;
  changeEnd: number; // lightness of the strongest change
}

const THEMES: Record<Theme, ThemeColours> = {
  light: {
    page: { r: 255, g: 255, b: 255 },
    ink: { r: 24, g: 26, b: 31 },
    paper: { r: 255, g: 255, b: 255 },
    wheel: [
      { lightness: 0.845, chroma: 0.088 },
      { lightness: 0.785, chroma: 0.062 },
    ],
    grey: 0.87,
    unnamed: 0.82,
    rest: 0.9,
    neutral: 0.915,
    changeEnd: 0.7,
  },
  dark: {
    page: { r: 22, g: 24, b: 29 },
    ink: { r: 16, g: 17, b: 20 },
    paper: { r: 238, g: 240, b: 244 },
    wheel: [
      { lightness: 0.48, chroma: 0.078 },
      { lightness: 0.42, chroma: 0.045 },
    ],
    grey: 0.37,
    unnamed: 0.42,
    rest: 0.31,
    neutral: 0.33,
    changeEnd: 0.5,
  },
};

// Hue of the n-th place: the wheel leaves out -10..110 degrees: the kernel's orange has them.
function wheelHue(place: number): number {
  return (110 + (place % HUES) * (240 / (HUES - 1))) % 360;
}

function fillOf(style: number, colours: ThemeColours): Rgb {
  const slot = Math.floor(style / PER_SLOT);
  const shade = ((style % SHADES) - 1.5) * 0.016;
  if (slot >= SLOT_CHANGE) {
    const step = style - SLOT_CHANGE * PER_SLOT - CHANGE_STEPS;
    const share = Math.min(1, Math.abs(step) / CHANGE_STEPS);
    const lightness = colours.neutral + (colours.changeEnd - colours.neutral) * share;
    return oklch(lightness, step === 0 ? 0.004 : 0.02 + 0.12 * share, step < 0 ? 248 : 58);
  }
  if (slot >= SLOT_WHEEL) {
    const place = slot - SLOT_WHEEL;
    const tone = colours.wheel[Math.floor(place / HUES)];
    return oklch(tone.lightness + shade, tone.chroma, wheelHue(place));
  }
  if (slot >= SLOT_KERNEL) {
    const tone = colours.wheel[0];
    return oklch(tone.lightness + shade, tone.chroma + 0.012, 50 + 8 * (slot - SLOT_KERNEL));
  }
  switch (slot) {
    case SLOT_UNNAMED:
      return oklch(colours.unnamed + shade, 0.01, 260);
    case SLOT_REST:
      return oklch(colours.rest, 0.006, 260);
    default:
      return oklch(colours.grey + shade, 0.012, 260);
  }
}

// Ink or paper, whichever reads better on the fill.
function textOn(fill: Rgb, colours: ThemeColours): Rgb {
  return contrast(colours.ink, fill) >= contrast(colours.paper, fill) ? colours.ink : colours.paper;
}

// Text that steps back and still can be read: contrast of 4.5 at least.
function quietTextOn(fill: Rgb, colours: ThemeColours): Rgb {
  const full = textOn(fill, colours);
  for (let share = 0.55; share < 1; share += 0.05) {
    const quiet = mix(full, fill, share);
    if (contrast(quiet, fill) >= 4.6) {
      return quiet;
    }
  }
  return full;
}

export function styleColours(
  theme: Theme,
  style: number,
  variant: number,
): { fill: Rgb; text: Rgb } {
  const colours = THEMES[theme];
  const full = fillOf(style, colours);
  if (variant === NORMAL) {
    return { fill: full, text: textOn(full, colours) };
  }
  const fill = mix(full, colours.page, variant === DIM ? 0.2 : 0.5);
  return { fill, text: quietTextOn(fill, colours) };
}

// All styles of a theme as text for the canvas; index = style * VARIANTS + variant.
export function stylesOf(theme: Theme): Style[] {
  const styles: Style[] = [];
  for (let style = 0; style < STYLE_COUNT; style++) {
    for (let variant = 0; variant < VARIANTS; variant++) {
      const { fill, text } = styleColours(theme, style, variant);
      styles.push({ fill: css(fill), text: css(text) });
    }
  }
  return styles;
}

// Rests, and code without a name of its own, are hatched besides their colour.
export function isHatched(style: number): boolean {
  return style < SLOT_CHANGE * PER_SLOT && style % PER_SLOT >= HATCHED;
}
