import { useEffect, useRef } from "react";

/** A key such as `j`, `?` or `Escape`; `mod+k` is ⌘K or Ctrl-K. */
export type Shortcuts = Record<string, (event: KeyboardEvent) => void>;

/** Keys of the whole page. Those without a modifier rest while somebody types or a dialog is open. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    function press(event: KeyboardEvent) {
      const hasModifier = event.metaKey || event.ctrlKey;
      if (event.altKey || event.defaultPrevented || (!hasModifier && isBusy(event.target))) return;
      const act = latest.current[hasModifier ? `mod+${event.key.toLowerCase()}` : event.key];
      if (!act) return;
      event.preventDefault();
      act(event);
    }
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

function isBusy(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false;
  const isField = target.closest("textarea, select, [contenteditable=true], input:not([type=checkbox], [type=range])");
  return isField !== null || target.closest("[role=dialog], [role=alertdialog], [role=menu], [role=listbox]") !== null;
}
