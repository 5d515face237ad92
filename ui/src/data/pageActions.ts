/** Actions of the open page, which the palette offers. */
import { useEffect, useId, useSyncExternalStore } from "react";

export interface PageAction {
  label: string;
  act: () => void;
  keys?: string;
}

const registered = new Map<string, PageAction[]>();
const listeners = new Set<() => void>();
let all: PageAction[] = [];

function changed(): void {
  all = [...registered.values()].flat();
  for (const listener of listeners) listener();
}

/** Offer actions while a component is shown. */
export function useActions(actions: PageAction[]): void {
  const id = useId();
  useEffect(() => {
    registered.set(id, actions);
    changed();
  }); // each time: actions see the present state
  useEffect(
    () => () => {
      registered.delete(id);
      changed();
    },
    [id],
  );
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePageActions(): PageAction[] {
  return useSyncExternalStore(subscribe, () => all);
}
