/** A piece of a log as lines. Pure. */

export interface LogLine {
  /** Where the line begins in the piece, in characters. */
  offset: number;
  text: string;
  isError: boolean;
}

// Colours and other control sequences of terminals, and hyperlinks (OSC 8), whose targets nobody would see.
// these are the control characters
const CONTROL = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[\u0000-\u0008\u000b-\u001f\u007f]/g;
const ERROR = /^(Traceback \(most recent call last\)|[\w.]*(Error|Exception)\b)|\b(ERROR|FATAL|CRITICAL)\b/;

/** Return the lines. `isCut`: the piece begins inside a line, which is left out. A `\r` replaces what stood before it. */
export function linesOf(text: string, isCut: boolean): LogLine[] {
  const lines: LogLine[] = [];
  let offset = 0;
  for (const raw of text.split("\n")) {
    const whole = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    const shown = whole.slice(whole.lastIndexOf("\r") + 1).replace(CONTROL, "");
    lines.push({ offset, text: shown, isError: ERROR.test(shown) });
    offset += raw.length + 1;
  }
  if (lines.at(-1)?.text === "") lines.pop();
  return isCut ? lines.slice(1) : lines;
}
