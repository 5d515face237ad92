/** Text of terminals as spans with colours. Hyperlinks and everything else that a terminal would obey is left out. Pure. */

export interface Span {
  text: string;
  /** Classes such as `ansi-1 bold`; empty for plain text. */
  style: string;
}

// these are the control characters
const SEQUENCE = /\u001b\[([0-9;:?<=>]*)[ -/]*([@-~])|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|\u001b[ -/]*[0-~]?|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
// marks that turn the direction of text, so that it reads otherwise than it is
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/g;

interface State {
  color: number | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}

const PLAIN: State = { color: null, bold: false, dim: false, italic: false, underline: false };

export function spansOf(text: string): Span[] {
  const spans: Span[] = [];
  let state = PLAIN;
  let at = 0;
  const add = (part: string) => {
    const shown = part.replace(DIRECTION, "");
    const style = styleOf(state);
    const last = spans.at(-1);
    if (!shown) return;
    if (last?.style === style) last.text += shown;
    else spans.push({ text: shown, style });
  };
  for (const match of text.matchAll(SEQUENCE)) {
    add(text.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === "m") state = changed(state, match[1] ?? "");
  }
  add(text.slice(at));
  return spans;
}

export function plainText(text: string): string {
  return spansOf(text).map((span) => span.text).join("");
}

function changed(before: State, codes: string): State {
  let state = { ...before };
  const numbers = codes.split(/[;:]/).map((code) => Number(code || 0));
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    if (code === 0) state = { ...PLAIN };
    else if (code === 1) state.bold = true;
    else if (code === 2) state.dim = true;
    else if (code === 3) state.italic = true;
    else if (code === 4) state.underline = true;
    else if (code === 22) Object.assign(state, { bold: false, dim: false });
    else if (code === 23) state.italic = false;
    else if (code === 24) state.underline = false;
    else if (code >= 30 && code <= 37) state.color = code - 30;
    else if (code >= 90 && code <= 97) state.color = code - 90 + 8;
    else if (code === 39) state.color = null;
    else if (code === 38 || code === 48) {
      // one of 256 colours, or three parts: only the first sixteen have a colour of the page
      const palette = numbers[at + 1] === 5 ? (numbers[at + 2] ?? 0) : null;
      if (code === 38) state.color = palette !== null && palette < 16 ? palette : null;
      at += numbers[at + 1] === 5 ? 2 : 4;
    }
  }
  return state;
}

function styleOf({ color, bold, dim, italic, underline }: State): string {
  const names = [color === null ? "" : `ansi-${color % 8}`, bold ? "bold" : "", dim ? "dim" : "", italic ? "italic" : "", underline ? "underline" : ""];
  return names.filter(Boolean).join(" ");
}
