// Text that fits its box, without asking the canvas for each: widths of single characters are
// measured once and added up (kerning makes that a little too wide, never too narrow by much).

// Narrower boxes carry no text.
export const NARROWEST_TEXT_PX = 24;
const PADDING_PX = 4;
const SHORTENED_LEAST = 4; // characters, the ellipsis among them: less says nothing

export class TextFit {
  private readonly latin = new Float32Array(256).fill(-1);
  private readonly others = new Map<number, number>();

  // `measure` gives the width of one character in px; `shorten` makes a name of at most so many
  // characters, or "" when nothing sensible is that short.
  constructor(
    private readonly measure: (character: string) => number,
    private readonly shorten: (name: string, charactersMax: number) => string,
  ) {}

  // Cost: the length of the text; one measurement per character never seen before.
  widthOf(text: string): number {
    let width = 0;
    for (let i = 0; i < text.length; i++) {
      width += this.characterWidth(text.charCodeAt(i));
    }
    return width;
  }

  // What of `name` fits a box of this width; "" when nothing does.
  fit(name: string, boxWidthPx: number): string {
    if (boxWidthPx < NARROWEST_TEXT_PX) {
      return "";
    }
    const room = boxWidthPx - 2 * PADDING_PX;
    const full = this.widthOf(name);
    if (full <= room) {
      return name;
    }
    let characters = Math.ceil((name.length * room) / full) + 2;
    while (characters >= SHORTENED_LEAST) {
      const text = this.shorten(name, characters);
      const width = this.widthOf(text);
      if (width <= room) {
        return text.length >= SHORTENED_LEAST ? text : "";
      }
      characters = Math.min(characters - 1, Math.floor((characters * room) / width) + 1);
    }
    return "";
  }

  private characterWidth(code: number): number {
    if (code < 256) {
      let width = this.latin[code];
      if (width < 0) {
        width = this.measure(String.fromCharCode(code));
        this.latin[code] = width;
      }
      return width;
    }
    let width = this.others.get(code);
    if (width === undefined) {
      // Half of a pair counts half of a wide character.
      const isPart = code >= 0xd800 && code < 0xe000;
      width = isPart ? this.measure("\u{1f600}") / 2 : this.measure(String.fromCharCode(code));
      this.others.set(code, width);
    }
    return width;
  }
}
