import { type DragEvent, type KeyboardEvent, type PointerEvent, useState } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import { type ColumnName, clampWidth, isNumeric, parseColumn, titleOf } from "../../data/columns";

const DRAGGED = "application/x-footplate-column";
const STEP = 16;

interface Props {
  column: ColumnName;
  title?: string;
  order: string | null;
  isSorted: boolean;
  ascending: boolean;
  width: number;
  /** Whether a narrow screen shows the column, too. */
  isKept?: boolean;
  onSort: (ascending?: boolean) => void;
  onWidth: (width: number) => void;
  /** Without these the column stays in its place. */
  onDrop?: (moved: ColumnName) => void;
  onShift?: (by: -1 | 1) => void;
  onRemove?: () => void;
  onReplace?: (column: ColumnName) => void;
  onGroup?: () => void;
}

/** The title of a column: click sorts, drag moves, the right edge resizes; the menu does the same with keys. */
export function Heading(props: Props) {
  const { column, order, isSorted, ascending, onSort, onShift, onDrop } = props;
  const title = props.title ?? titleOf(column);
  const [isTarget, setTarget] = useState(false);
  const isCurve = parseColumn(column).summary === "curve";

  function keys(event: KeyboardEvent) {
    const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (by === 0 || !(event.shiftKey || event.altKey)) return;
    event.preventDefault();
    if (event.altKey) onShift?.(by);
    else props.onWidth(clampWidth(props.width + by * STEP));
  }

  function over(event: DragEvent) {
    if (!onDrop || !event.dataTransfer.types.includes(DRAGGED)) return;
    event.preventDefault();
    setTarget(true);
  }

  function drop(event: DragEvent) {
    setTarget(false);
    onDrop?.(event.dataTransfer.getData(DRAGGED));
  }

  const side = isNumeric(column) && !isCurve ? "num" : "";
  const isWide = !props.isKept && column !== "name" && column !== "state";
  return (
    <th
      scope="col"
      className={`${side}${isWide ? " wide" : ""}${isTarget ? " target" : ""}`}
      title={column}
      aria-sort={isSorted ? (ascending ? "ascending" : "descending") : undefined}
      draggable={onDrop !== undefined}
      onDragStart={(event) => event.dataTransfer.setData(DRAGGED, column)}
      onDragOver={over}
      onDragLeave={() => setTarget(false)}
      onDrop={drop}
    >
      <span className="heading">
        <button type="button" className="quiet" disabled={order === null && !onShift} aria-label={isCurve ? `${title} curve` : title} onClick={() => order && onSort()} onKeyDown={keys}>
          {title}
          {isSorted ? (ascending ? " ↑" : " ↓") : ""}
        </button>
        {props.onRemove ? <ColumnMenu {...props} title={isCurve ? `${title} curve` : title} /> : null}
      </span>
      <ResizeHandle width={props.width} onWidth={props.onWidth} />
    </th>
  );
}

function ResizeHandle({ width, onWidth }: { width: number; onWidth: (width: number) => void }) {
  function start(event: PointerEvent<HTMLSpanElement>) {
    event.preventDefault();
    const from = event.clientX;
    const handle = event.currentTarget;
    handle.setPointerCapture(event.pointerId);
    handle.onpointermove = (moved) => onWidth(clampWidth(width + moved.clientX - from));
    handle.onpointerup = () => {
      handle.onpointermove = null;
    };
  }
  // The same is possible with keys on the title: the handle is for pointers only.
  return <span className="resize" aria-hidden="true" draggable onDragStart={(event) => event.preventDefault()} onPointerDown={start} />;
}

function ColumnMenu({ column, title, order, width, onSort, onWidth, onShift, onRemove, onReplace, onGroup }: Props & { title: string }) {
  const { kind, name, summary } = parseColumn(column);
  const ways = kind === "metrics" ? (["last", "min", "max", "curve"] as const).filter((way) => way !== summary) : [];
  const columnFor = (way: string) => (way === "last" ? `metrics.${name}` : `${way}(metrics.${name})`);
  const items: [string, string, (() => void) | undefined][] = [
    ["Sort ascending", "", order ? () => onSort(true) : undefined],
    ["Sort descending", "", order ? () => onSort(false) : undefined],
    ...ways.map((way): [string, string, () => void] => [WAYS[way], "", () => onReplace?.(columnFor(way))]),
    ["Group by this", "", onGroup],
    ["Move left", "Alt ←", onShift && (() => onShift(-1))],
    ["Move right", "Alt →", onShift && (() => onShift(1))],
    ["Wider", "Shift →", () => onWidth(clampWidth(width + 2 * STEP))],
    ["Narrower", "Shift ←", () => onWidth(clampWidth(width - 2 * STEP))],
    ["Remove the column", "", onRemove],
  ];
  return (
    <MenuTrigger>
      <Button className="quiet more" aria-label={`Column ${title}`}>
        ⋮
      </Button>
      <Popover placement="bottom end" className="popover">
        <Menu aria-label={`Column ${title}`}>
          {items
            .filter(([, , act]) => act)
            .map(([label, keys, act]) => (
              <MenuItem key={label} textValue={label} onAction={act}>
                <span>{label}</span>
                {keys ? <kbd>{keys}</kbd> : null}
              </MenuItem>
            ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

const WAYS = { last: "Show the last value", min: "Show the smallest value", max: "Show the largest value", curve: "Show the curve" };
