import { useVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { chartRows, toggled } from "../../../data/run/chartRows";
import type { RunPart } from "../part";
import { ChartCard } from "./ChartCard";

interface Props {
  part: RunPart;
  names: string[];
  isSystem?: (name: string) => boolean;
  groupOf?: (name: string) => string;
  titleOf?: (name: string) => string;
  formatOf?: (name: string) => ((value: number) => string) | undefined;
}

const ROW = 232;
const GROUP = 36;
const NARROWEST = 320;

/** Any number of charts: only those near the screen exist. */
export function ChartWall({ part, names, isSystem, groupOf, titleOf, formatOf }: Props) {
  const { search, change } = part;
  const wall = useRef<HTMLDivElement>(null);
  const { perRow, top } = useSize(wall);
  const { find, pinned, closed } = search;
  const rows = useMemo(() => chartRows(names, { find, pinned, closed }, perRow, groupOf), [names, find, pinned, closed, perRow, groupOf]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => document.getElementById("content"),
    estimateSize: (index) => (rows[index]?.kind === "group" ? GROUP : ROW),
    getItemKey: (index) => rows[index]?.id ?? index,
    scrollMargin: top,
    overscan: 2,
  });
  useLayoutEffect(() => virtual.measure(), [virtual, rows]);
  return (
    <div ref={wall} className="wall" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map((item) => {
        const row = rows[item.index];
        const style = { transform: `translateY(${item.start - top}px)`, height: item.size };
        if (!row) return null;
        if (row.kind === "group") {
          return (
            <h2 key={item.key} className="wall-row group" style={style}>
              <button type="button" className="quiet" aria-expanded={row.isOpen} onClick={() => change({ closed: toggled(closed, row.title) })}>
                {row.isOpen ? "▾" : "▸"} {row.title} <span className="faint">{row.count}</span>
              </button>
            </h2>
          );
        }
        return (
          <div key={item.key} className="wall-row charts" style={{ ...style, gridTemplateColumns: `repeat(${perRow}, minmax(0, 1fr))` }}>
            {row.names.map((name) => (
              <ChartCard key={name} part={part} name={name} title={titleOf?.(name)} system={isSystem?.(name)} format={formatOf?.(name)} />
            ))}
          </div>
        );
      })}
    </div>
  );
}

/** How many charts fit beside each other, and where the wall begins in what scrolls. */
function useSize(wall: React.RefObject<HTMLDivElement | null>): { perRow: number; top: number } {
  const [size, setSize] = useState({ perRow: 3, top: 0 });
  useLayoutEffect(() => {
    const element = wall.current;
    const scroller = document.getElementById("content");
    if (!element || !scroller) return;
    const measure = () => {
      const top = Math.round(element.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop);
      const perRow = Math.max(1, Math.floor((element.clientWidth + 12) / (NARROWEST + 12)));
      setSize((before) => (before.perRow === perRow && before.top === top ? before : { perRow, top }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    observer.observe(scroller);
    return () => observer.disconnect();
  }, [wall]);
  return size;
}
