import type { Virtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { useShortcuts } from "../../parts/useShortcuts";

/** `j` and `k` move the focus to the next and the previous run, so that Enter opens it; `x` selects it. */
export function useRowKeys(scroller: HTMLDivElement | null, virtual: Virtualizer<HTMLDivElement, Element>, count: number): void {
  const active = useRef(-1);

  const rowAt = (index: number) => scroller?.querySelector<HTMLElement>(`tr[data-index="${index}"]`) ?? null;

  function focusedRow(): number {
    const row = document.activeElement?.closest<HTMLElement>("tr[data-index]");
    return row ? Number(row.dataset.index) : active.current;
  }

  function move(by: number) {
    const to = Math.min(count - 1, Math.max(0, focusedRow() + by));
    if (count === 0) return;
    active.current = to;
    virtual.scrollToIndex(to);
    // The row may only just be on its way into the document.
    requestAnimationFrame(() => {
      rowAt(to)?.querySelector<HTMLElement>(".name a")?.focus({ preventScroll: true });
    });
  }

  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    x: () => rowAt(focusedRow())?.querySelector<HTMLElement>("input[type=checkbox]")?.click(),
    X: () => rowAt(focusedRow())?.querySelector("input[type=checkbox]")?.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true })),
  });
}
