import { type ReactNode, useDeferredValue, useMemo, useState } from "react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";
import { useQueries } from "@tanstack/react-query";
import type { ColumnName } from "../../data/columns";
import { matchingNames } from "../../data/matching";
import { NAME_KINDS, type NameKind, runNames } from "../../data/runQueries";

const MOST_SHOWN = 100;
const NO_FIELDS: ColumnName[] = [];

interface Props {
  workspace: string;
  label: string;
  kinds?: NameKind[];
  /** Fields that every run has. */
  fields?: ColumnName[];
  /** Whether a name is chosen; without it, a click chooses one and closes the panel. */
  isChosen?: (column: ColumnName) => boolean;
  titleFor?: (column: ColumnName) => string;
  onChoose: (column: ColumnName) => void;
  children?: ReactNode;
}

/** A button with a panel: search among all names, however many, and choose. */
export function NamePicker({ label, children, ...props }: Props) {
  return (
    <DialogTrigger>
      <Button className="pick">{label}</Button>
      <Popover placement="bottom end" className="popover panel">
        <Dialog aria-label={label}>
          {({ close }) => (
            <>
              {children}
              <Names {...props} close={close} />
            </>
          )}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

type NamesProps = Omit<Props, "label" | "children"> & { close: () => void };

function Names({ workspace, kinds = NAME_KINDS, fields = NO_FIELDS, isChosen, titleFor, onChoose, close }: NamesProps) {
  const [text, setText] = useState("");
  const searched = useDeferredValue(text);
  const lists = useQueries({ queries: kinds.map((kind) => runNames(workspace, kind)), combine: (results) => results.map((result) => result.data) });
  const all = useMemo(() => [...kinds.flatMap((kind, index) => (lists[index] ?? []).map((name) => `${kind}.${name}`)), ...fields], [kinds, lists, fields]);
  const { shown, more } = useMemo(() => matchingNames(all, searched, MOST_SHOWN), [all, searched]);
  return (
    <>
      <input type="search" aria-label="Search names" placeholder={`Search ${all.length.toLocaleString("en")} names`} value={text} onChange={(event) => setText(event.target.value)} autoFocus />
      <ul className="plain names">
        {shown.map((column) => (
          <li key={column}>
            {isChosen ? (
              <label>
                <input type="checkbox" checked={isChosen(column)} onChange={() => onChoose(column)} /> {titleFor?.(column) ?? column}
              </label>
            ) : (
              <button
                type="button"
                className="quiet"
                onClick={() => {
                  onChoose(column);
                  close();
                }}
              >
                {column}
              </button>
            )}
          </li>
        ))}
      </ul>
      {more > 0 ? <p className="soft">{more.toLocaleString("en")} more: narrow the search</p> : null}
      {shown.length === 0 ? <p className="soft">{all.length === 0 ? "No run here has names to choose from yet." : "No name matches."}</p> : null}
    </>
  );
}
