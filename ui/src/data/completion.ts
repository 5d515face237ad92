/** What can follow in a filter that is being written. Pure: names and values come from the server. */
import { fieldOf, quote } from "./filterText";

/** What is being written at the end of a text; `start` is where it begins, `prefix` what there is of it. */
export type Context =
  | { expects: "field" | "operator" | "conjunction"; prefix: string; start: number }
  | { expects: "name"; kind: string; prefix: string; start: number }
  | { expects: "value"; field: string; prefix: string; start: number };

export interface Option {
  label: string;
  /** The whole text once the option is taken. */
  text: string;
}

const STATUSES = ["Running", "Completed", "Failed", "Canceled", "Queued", "Preparing", "Starting", "Provisioning", "Finalizing"];
const TIMES = ["1h ago", "1d ago", "7d ago", "30d ago"];
const DURATIONS = ["1m", "10m", "1h", "1d"];
const CONSTANTS: Record<string, string[]> = { status: STATUSES, created: TIMES, started: TIMES, ended: TIMES, duration: DURATIONS };
const NAMED = ["metrics", "params", "tags", "properties"];
const PLAIN = ["status", "name", "experiment", "created", "started", "ended", "duration", "target", "by", "type", "note", "id", "number", "attempt"];
const OPERATORS = ["==", "!=", "<", "<=", ">", ">=", "~"];
const CONJUNCTIONS = ["and", "or"];

const FIELD = String.raw`(?:(?:metrics|params|tags|properties)\.(?:"(?:[^"\\]|\\.)*"|[^\s()=<>!~"']+)|[a-z]+)`;
const VALUE = new RegExp(String.raw`(?:^|[\s(])(${FIELD})\)?\s*(?:==|!=|<=|>=|<|>|~)\s*(?:"([^"]*)|'([^']*)|([^\s()"'=]*))$`);
const NAME = /(?:^|[\s(])(metrics|params|tags|properties)\."?([^\s()=<>!~"']*)$/;
const COMPLETE_FIELD = new RegExp(String.raw`(?:^|[\s(])${FIELD}\)?\s+$`);
const BEGINS = /(?:^|[\s(])(?:and|or|not)\s+$|\(\s*$|^\s*$|(?:&&|\|\||!)\s*$/i;

export function contextOf(text: string): Context {
  const value = VALUE.exec(text);
  if (value?.[1]) {
    const prefix = value[2] ?? value[3] ?? value[4] ?? "";
    const quoted = value[4] === undefined ? 1 : 0;
    return { expects: "value", field: value[1], prefix, start: text.length - prefix.length - quoted };
  }
  const name = NAME.exec(text);
  if (name?.[1] !== undefined) {
    return { expects: "name", kind: name[1], prefix: name[2] ?? "", start: text.lastIndexOf(`${name[1]}.`) };
  }
  const prefix = /[^\s()]*$/.exec(text)?.[0] ?? "";
  const start = text.length - prefix.length;
  const before = text.slice(0, start);
  if (BEGINS.test(before)) return { expects: "field", prefix, start };
  return { expects: COMPLETE_FIELD.test(before) && !/\b(and|or|not)\s+$/i.test(before) && isField(before) ? "operator" : "conjunction", prefix, start };
}

/** Whether the last word is a field that has no operator yet: it stands where a condition begins. */
function isField(before: string): boolean {
  const word = new RegExp(String.raw`${FIELD}\)?\s+$`).exec(before);
  return word !== null && BEGINS.test(before.slice(0, word.index).replace(/(?:min|max|last)\($/, ""));
}

/** The constants of the language that fit; `fetched` are names or values of the server. */
export function optionsOf(text: string, context: Context, fetched: string[]): Option[] {
  const before = text.slice(0, context.start);
  const offered = offersOf(context, fetched);
  return offered
    .filter(({ label }) => label.toLowerCase().startsWith(context.prefix.toLowerCase()) && label !== context.prefix)
    .slice(0, 20)
    .map(({ label, insert }) => ({ label, text: before + insert }));
}

function offersOf(context: Context, fetched: string[]): { label: string; insert: string }[] {
  const words = (labels: string[], end: string) => labels.map((label) => ({ label, insert: label + end }));
  switch (context.expects) {
    case "field":
      return [...words(NAMED, "."), ...words(PLAIN, " ")];
    case "operator":
      return words(OPERATORS, " ");
    case "conjunction":
      return words(CONJUNCTIONS, " ");
    case "name":
      return fetched.map((name) => ({ label: name, insert: `${fieldOf(context.kind, name)} ` }));
    case "value":
      return [...(CONSTANTS[context.field] ?? []), ...fetched].map((value) => ({ label: value, insert: `${valueText(value)} ` }));
  }
}

/** Numbers and plain words need no quotes. */
function valueText(value: string): string {
  return /^([-+]?[\d.]+(e[-+]?\d+)?|[A-Za-z]\w*)$/i.test(value) ? value : quote(value);
}

/** Whether the server knows values of a field. */
export function hasValues(field: string): boolean {
  return /^(params|tags|properties)\./.test(field) || ["type", "target", "by", "experiment"].includes(field);
}
