import { useRef, useState } from "react";
import { isReordered, type Row, renewInPlace } from "../../data/rows";

/**
 * Rows keep their places while the pointer is over the table, so that nobody clicks on another run than the one they
 * saw. Their contents go on to change. A new request, such as another filter, shows its rows at once.
 */
export function useHeldWhileHovered(rows: Row[], request: string) {
  const [isOver, setOver] = useState(false);
  const held = useRef<{ request: string; rows: Row[] }>({ request, rows });
  const { rows: before, request: earlier } = held.current;
  const isHeld = isOver && earlier === request && before.length > 0 && isReordered(before, rows);
  const shown = isHeld ? renewInPlace(before, rows) : rows;
  held.current = { request, rows: shown };
  return { rows: shown, hover: { onPointerEnter: () => setOver(true), onPointerLeave: () => setOver(false) } };
}
