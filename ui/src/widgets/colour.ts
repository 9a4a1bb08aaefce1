// Colours as numbers: OKLCH (lightness 0..1, chroma, hue in degrees), whose steps look equal to the
// eye, so that different hues of one lightness have about the same contrast to their text.

export interface Rgb {
  r: number; // 0..255
  g: number;
  b: number;
}

function gamma(linear: number): number {
  const clipped = Math.min(1, Math.max(0, linear));
  return clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * Math.pow(clipped, 1 / 2.4) - 0.055;
}

// Source: Björn Ottosson, "A perceptual color space for image processing" (OKLab).
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = Math.pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const m = Math.pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const s = Math.pow(lightness - 0.0894841775 * a - 1.291485548 * b, 3);
  return {
    r: Math.round(255 * gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s)),
    g: Math.round(255 * gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s)),
    b: Math.round(255 * gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s)),
  };
}

export function css(colour: Rgb): string {
  return `rgb(${colour.r},${colour.g},${colour.b})`;
}

// `share` of `over`, the rest of `under`.
export function mix(over: Rgb, under: Rgb, share: number): Rgb {
  const one = (a: number, b: number): number => Math.round(a * share + b * (1 - share));
  return { r: one(over.r, under.r), g: one(over.g, under.g), b: one(over.b, under.b) };
}

// Source: WCAG 2.1, relative luminance and contrast ratio.
export function luminance(colour: Rgb): number {
  const linear = (value: number): number => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : Math.pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.r) + 0.7152 * linear(colour.g) + 0.0722 * linear(colour.b);
}

export function contrast(one: Rgb, other: Rgb): number {
  const a = luminance(one);
  const b = luminance(other);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
