/** Short messages about what was done, with a way back where there is one. */
import { useSyncExternalStore } from "react";

export interface Notice {
  id: number;
  text: string;
  error?: unknown;
  undo?: () => void;
}

const SHOWN_MILLISECONDS = 8000;
let notices: Notice[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(changed: Notice[]): void {
  notices = changed;
  for (const listener of listeners) listener();
}

/** Show a message until it is dismissed or, without an error, for some seconds. */
export function announce(notice: Omit<Notice, "id">): number {
  const id = next;
  next += 1;
  set([...notices.slice(-3), { ...notice, id }]);
  if (!notice.error) setTimeout(() => dismiss(id), SHOWN_MILLISECONDS);
  return id;
}

export function dismiss(id: number): void {
  if (notices.some((notice) => notice.id === id)) set(notices.filter((notice) => notice.id !== id));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useNotices(): Notice[] {
  return useSyncExternalStore(subscribe, () => notices);
}
