/**
 * Changes of a workspace, live. A browser opens six connections to a host at most, so one tab reads the stream (the one
 * that holds a lock) and passes on what it reads to the others.
 */
import type { QueryClient } from "@tanstack/react-query";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { renewRuns } from "./liveRuns";
import { sessionHeaders } from "./session";

interface Message {
  event: "begin" | "reset" | "changes";
  data: { runs?: string[]; metrics?: string[]; endpoints?: string[] };
}

const RETRY_MILLISECONDS = 1000;
let away = false;
const listeners = new Set<() => void>();

function setAway(value: boolean): void {
  if (away === value) return;
  away = value;
  for (const listener of listeners) listener();
}

/** Whether the server does not answer at the moment. */
export function useServerIsAway(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => away,
  );
}

export function useChanges(workspace: string): void {
  const queries = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    const channel = new BroadcastChannel(`footplate-changes-${workspace}`);
    channel.onmessage = ({ data }: MessageEvent<Message>) => apply(queries, workspace, data);
    navigator.locks
      .request(`footplate-changes-${workspace}`, { signal: stop.signal }, async () => {
        await follow(workspace, stop.signal, (message) => {
          apply(queries, workspace, message);
          channel.postMessage(message);
        });
      })
      .catch(() => undefined); // the tab left before it was its turn
    return () => {
      stop.abort();
      channel.close();
    };
  }, [workspace, queries]);
}

async function follow(workspace: string, signal: AbortSignal, tell: (message: Message) => void): Promise<void> {
  let since = "";
  while (!signal.aborted) {
    try {
      const query = since ? `?since=${encodeURIComponent(since)}` : "";
      const path = `/api/v1/workspaces/${encodeURIComponent(workspace)}/changes${query}`;
      const response = await fetch(path, { headers: sessionHeaders(), signal });
      if (!response.ok || !response.body) throw new Error(String(response.status));
      if (away) tell({ event: "reset", data: {} });
      setAway(false);
      for await (const message of messagesOf(response.body)) {
        since = message.id;
        tell(message);
      }
    } catch {
      if (signal.aborted) return;
      setAway(true);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS));
  }
}

async function* messagesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Message & { id: string }> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const fields = Object.fromEntries(part.split("\n").map((row) => splitOnce(row)));
      if (fields.event) yield { event: fields.event as Message["event"], id: fields.id ?? "", data: JSON.parse(fields.data ?? "{}") };
    }
  }
}

function splitOnce(row: string): [string, string] {
  const at = row.indexOf(": ");
  return [row.slice(0, at), row.slice(at + 2)];
}

function apply(queries: QueryClient, workspace: string, message: Message): void {
  if (message.event === "begin") return;
  if (message.event === "reset") {
    void queries.invalidateQueries();
    return;
  }
  const { runs = [], metrics = [] } = message.data;
  renewRuns(queries, workspace, runs, metrics);
  for (const run of runs) void queries.invalidateQueries({ queryKey: ["run", run] });
  for (const run of metrics) {
    void queries.invalidateQueries({ queryKey: ["metrics", run] });
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] === "series" && hasRun(queryKey, run) });
  }
}

function hasRun(key: readonly unknown[], run: string): boolean {
  return Array.isArray(key[2]) && key[2].includes(run);
}
