// Making elements. Text goes in as text only: names of functions are foreign and may look
// like HTML.

export interface Attributes {
  class?: string;
  testId?: string;
  text?: string;
  label?: string; // for who does not see the picture
  title?: string;
  role?: string;
  type?: string;
  tabIndex?: number;
  data?: Record<string, string>;
  aria?: Record<string, string>;
}

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  children: Node[] = [],
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined) {
      element.setAttribute(name, value);
    }
  };
  set("class", attributes.class);
  set("data-testid", attributes.testId);
  set("aria-label", attributes.label);
  set("title", attributes.title);
  set("role", attributes.role);
  set("type", attributes.type ?? (tag === "button" ? "button" : undefined));
  set("tabindex", attributes.tabIndex === undefined ? undefined : String(attributes.tabIndex));
  for (const [name, value] of Object.entries(attributes.data ?? {})) {
    set(`data-${name}`, value);
  }
  for (const [name, value] of Object.entries(attributes.aria ?? {})) {
    set(`aria-${name}`, value);
  }
  if (attributes.text !== undefined) {
    element.textContent = attributes.text;
  }
  element.append(...children);
  return element;
}

export interface ButtonOptions extends Attributes {
  onClick: (event: MouseEvent) => void;
  pressed?: boolean;
}

export function button(options: ButtonOptions, children: Node[] = []): HTMLButtonElement {
  const element = make("button", options, children);
  if (options.pressed !== undefined) {
    press(element, options.pressed);
  }
  element.addEventListener("click", options.onClick);
  return element;
}

export function press(element: HTMLElement, isPressed: boolean): void {
  element.setAttribute("aria-pressed", String(isPressed));
}

export function show(element: HTMLElement, isShown: boolean): void {
  element.hidden = !isShown;
}

// Replaces the options of a <select>; `value` stays chosen.
export function fillSelect(
  select: HTMLSelectElement,
  options: { value: string; label: string }[],
  value: string,
): void {
  select.replaceChildren(
    ...options.map((one) => {
      const option = make("option", { text: one.label });
      option.value = one.value;
      return option;
    }),
  );
  select.value = value;
}

// A picture of the size 16 x 16 out of one path, in the colour of the text.
export function icon(path: string): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "vesta-icon");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

// Copies text. Some browsers have no clipboard interface on pages opened from a file: then a hidden
// text field does it.
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = make("textarea", { class: "vesta-clipboard", aria: { hidden: "true" } });
    field.value = text;
    document.body.append(field);
    const focused = document.activeElement;
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (focused instanceof HTMLElement) {
      focused.focus();
    }
    return done;
  }
}
