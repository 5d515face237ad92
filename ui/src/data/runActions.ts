/** Actions on several runs at once, each with its way back where there is one. */
import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { cancelRun, changeRun, deleteRun } from "../api/sdk.gen";
import type { RunView } from "../api/types.gen";
import { counted } from "./format";
import { announce } from "./notices";

const AT_ONCE = 6;
export const DELETE_AFTER_MILLISECONDS = 8000;

/** Do it for each run; return the errors. */
async function forEachRun(runs: string[], act: (run: string) => Promise<unknown>): Promise<unknown[]> {
  const waiting = [...runs];
  const errors: unknown[] = [];
  const work = async () => {
    for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
      try {
        await act(run);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return errors;
}

async function perform(queries: QueryClient, runs: string[], done: string, act: (run: string) => Promise<unknown>, undo?: () => void): Promise<void> {
  const errors = await forEachRun(runs, act);
  const succeeded = runs.length - errors.length;
  if (succeeded > 0) announce({ text: `${done} ${counted(succeeded, "run")}`, undo });
  if (errors.length > 0) announce({ text: `${counted(errors.length, "run")} failed`, error: errors[0] });
  await Promise.all([queries.invalidateQueries({ queryKey: ["runs"] }), queries.invalidateQueries({ queryKey: ["run"] })]);
}

export function cancelRuns(queries: QueryClient, runs: string[]): Promise<void> {
  return perform(queries, runs, "Canceled", (run) => cancelRun({ path: { run } }));
}

export function archiveRuns(queries: QueryClient, runs: string[], archived: boolean): Promise<void> {
  const done = archived ? "Archived" : "Restored";
  const undo = () => void archiveRuns(queries, runs, !archived);
  return perform(queries, runs, done, (run) => changeRun({ path: { run }, body: { archived } }), undo);
}

/** Set a tag. The way back gives each run the value that it had. */
export function tagRuns(queries: QueryClient, runs: RunView[], name: string, value: string | null): Promise<void> {
  const before = new Map(runs.map((run) => [run.id, run.tags ?? {}]));
  const ids = runs.map((run) => run.id);
  const restore = (run: string) => {
    const tags = before.get(run) ?? {};
    const body = name in tags ? { tags: { [name]: tags[name] ?? null } } : { remove_tags: [name] };
    return changeRun({ path: { run }, body });
  };
  const undo = () => void perform(queries, ids, "Restored the tag of", restore);
  return perform(queries, ids, `Tagged`, (run) => changeRun({ path: { run }, body: { tags: { [name]: value } } }), undo);
}

// ── Deletion happens a little later: until then it can be undone, and leaving the page leaves the runs ────────────────

let leaving: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();

function setLeaving(runs: Iterable<string>): void {
  leaving = new Set(runs);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Runs that are about to be deleted, which no table shows. */
export function useLeavingRuns(): ReadonlySet<string> {
  return useSyncExternalStore(subscribe, () => leaving);
}

export function deleteRuns(queries: QueryClient, runs: string[]): void {
  const back = () => setLeaving([...leaving].filter((run) => !runs.includes(run)));
  const timer = setTimeout(async () => {
    const errors = await forEachRun(runs, (run) => deleteRun({ path: { run } }));
    await queries.invalidateQueries({ queryKey: ["runs"] });
    back();
    if (errors.length > 0) announce({ text: `${counted(errors.length, "run")} could not be deleted`, error: errors[0] });
  }, DELETE_AFTER_MILLISECONDS);
  const undo = () => {
    clearTimeout(timer);
    back();
  };
  setLeaving([...leaving, ...runs]);
  announce({ text: `Deleting ${counted(runs.length, "run")}`, undo });
}
