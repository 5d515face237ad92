/** Arguments as people type them, and what does in a terminal or in Python what the page does. Pure. */
import type { RunSpecOutput, RunView } from "../../api/types.gen";

const PLAIN = /^[\w@%+=:,./-]+$/;

/** Quote a word for a shell, where it needs it. */
export function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

export function commandLine(words: string[]): string {
  return words.map(quoted).join(" ");
}

/** Split a line into words as a shell does: quotes and backslashes, but no variables and no patterns. */
export function wordsOf(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const sign = line.charAt(at);
    const isEscape = sign === "\\" && quote !== "'" && at + 1 < line.length;
    if (isEscape) {
      at += 1;
      word = (word ?? "") + line.charAt(at);
    } else if (sign === quote) {
      quote = "";
    } else if (!quote && (sign === '"' || sign === "'")) {
      quote = sign;
      word ??= "";
    } else if (!quote && /\s/.test(sign)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? "") + sign;
    }
  }
  if (quote) throw new Error(`the quote ${quote} is not closed`);
  return word === null ? words : [...words, word];
}

export interface Recipe {
  title: string;
  text: string;
}

function pythonList(words: string[]): string {
  return `[${words.map((word) => JSON.stringify(word)).join(", ")}]`;
}

/** What to copy: the same by the command line and by Python. */
export function recipesOf(run: RunView): Recipe[] {
  const words = run.spec?.program?.arguments ?? [];
  const hasScript = Boolean(run.spec?.program?.script);
  const again = hasScript ? ` -- ${commandLine(words)}` : "";
  const python = ["from azureml.core import Workspace", "", `run = Workspace.from_config().get_run(${JSON.stringify(run.id)})`];
  return [
    { title: "Show it in a terminal", text: `footplate runs show ${run.id}\nfootplate runs logs -f ${run.id}` },
    { title: "Run it again in a terminal", text: `footplate runs rerun ${run.id}${words.length > 0 ? again : ""}` },
    { title: "Read it in Python", text: [...python, "print(run.get_metrics())"].join("\n") },
    { title: "Run it again in Python", text: [...python, hasScript ? `again = run.rerun(arguments=${pythonList(words)})` : "again = run.rerun()"].join("\n") },
    { title: "TensorBoard", text: [...python, "from azureml.tensorboard import Tensorboard", "print(Tensorboard([run]).start())"].join("\n") },
  ];
}

const RERUN_OF = "footplate.rerun_of";

/** The spec of the same run once more: its source, locked environment and settings, with other arguments. */
export function specAgain(run: RunView & { spec: RunSpecOutput }, words: string[]): RunSpecOutput {
  const { spec } = run;
  const hasScript = Boolean(spec.program?.script);
  return {
    ...spec,
    lock: run.lock,
    parent: null,
    name: null,
    display_name: null,
    tags: {},
    properties: { ...spec.properties, [RERUN_OF]: run.id },
    program: hasScript ? { ...spec.program, arguments: words } : spec.program,
    definition: hasScript && spec.definition && Object.keys(spec.definition).length > 0 ? { ...spec.definition, arguments: words } : spec.definition,
  };
}

/** An id as the command line makes them: `<experiment>_<unix seconds>_<8 hex digits>`. */
export function newRunId(experiment: string, now: number, random: Uint8Array): string {
  const digits = [...random].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${experiment}_${Math.floor(now)}_${digits}`;
}
