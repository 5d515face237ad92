import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useDeferredValue, useId, useState } from "react";
import type { RunView } from "../api/types.gen";
import { nameOf } from "../data/columns";
import { matchingNames } from "../data/matching";
import { usePageActions } from "../data/pageActions";
import { workspaces } from "../data/queries";
import { findRuns } from "../data/runQueries";
import { shortState } from "../data/runStates";
import { Window } from "./Window";

interface Entry {
  key: string;
  group: string;
  label: string;
  detail?: string;
  act: () => void;
}

interface Props {
  workspace: string | undefined;
  onClose: () => void;
}

/** Jump to a run, a page or a workspace, or do what the page offers: everything from the keyboard. */
export default function Palette({ workspace, onClose }: Props) {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const id = useId();
  const entries = useEntries(workspace, text);
  const chosen = Math.min(active, entries.length - 1);

  function take(entry: Entry | undefined) {
    if (!entry) return;
    onClose();
    entry.act();
  }

  function keys(event: KeyboardEvent) {
    if (event.key === "ArrowDown") setActive((chosen + 1) % Math.max(1, entries.length));
    else if (event.key === "ArrowUp") setActive((chosen - 1 + entries.length) % Math.max(1, entries.length));
    else if (event.key === "Enter") take(entries[chosen]);
    else return;
    event.preventDefault();
  }

  return (
    <Window title="Go to" isOpen onClose={onClose}>
      <input
        type="search"
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls={`${id}-entries`}
        aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined}
        placeholder="A run, a page, an action"
        autoFocus
        autoComplete="off"
        value={text}
        onKeyDown={keys}
        onChange={(event) => {
          setText(event.target.value);
          setActive(0);
        }}
      />
      <ul id={`${id}-entries`} role="listbox" aria-label="Matches" className="plain entries">
        {entries.map((entry, index) => (
          <li key={entry.key} id={`${id}-${index}`} role="option" aria-selected={index === chosen} onClick={() => take(entry)} onMouseMove={() => setActive(index)}>
            <span>{entry.label}</span>
            <span className="soft">{entry.detail ?? entry.group}</span>
          </li>
        ))}
      </ul>
      {entries.length === 0 ? <p className="soft">Nothing matches.</p> : null}
    </Window>
  );
}

function useEntries(workspace: string | undefined, text: string): Entry[] {
  const navigate = useNavigate();
  const actions = usePageActions();
  const searched = useDeferredValue(text.trim());
  const { data: known = [] } = useQuery(workspaces);
  const { data: runs = [] } = useQuery({ ...findRuns(workspace ?? "", searched), enabled: workspace !== undefined });
  const fixed: Entry[] = [
    ...actions.map(({ label, act, keys }) => ({ key: `action ${label}`, group: keys ?? "action", label, act })),
    ...known.map((each) => ({
      key: `workspace ${each.id}`,
      group: "workspace",
      label: `Runs of ${each.name}`,
      act: () => void navigate({ to: "/w/$workspace/runs", params: { workspace: each.id } }),
    })),
  ];
  const { shown } = matchingNames(fixed.map(({ label }) => label), text, 20);
  // While the server searches, earlier matches remain: only those that fit are offered.
  const fits = (run: RunView) => `${nameOf(run)} ${run.id}`.toLowerCase().includes(text.trim().toLowerCase());
  const found = runs.filter(fits).map((run) => ({
    key: `run ${run.id}`,
    group: "run",
    label: nameOf(run),
    detail: shortState(run),
    act: () => void navigate({ to: "/w/$workspace/runs/$run", params: { workspace: run.workspace, run: run.id } }),
  }));
  const matching = fixed.filter(({ label }) => shown.includes(label));
  return text.trim() ? [...matching, ...found] : [...found.slice(0, 5), ...matching];
}
