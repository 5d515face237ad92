import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { RunView } from "../../api/types.gen";
import { counted } from "../../data/format";
import { archiveRuns, cancelRuns, deleteRuns, tagRuns } from "../../data/runActions";
import { isOver } from "../../data/runStates";
import { useActions } from "../../data/pageActions";
import { Window } from "../../parts/Window";

interface Props {
  runs: RunView[];
  onClear: () => void;
}

/** What can be done with the selected runs. What can be undone is done at once, with a way back. */
export function BulkBar({ runs, onClear }: Props) {
  const queries = useQueryClient();
  const [asked, setAsked] = useState<"cancel" | "tag" | null>(null);
  const ids = runs.map((run) => run.id);
  const active = runs.filter((run) => !isOver(run));
  const ended = runs.filter(isOver).map((run) => run.id);
  const areArchived = runs.length > 0 && runs.every((run) => run.archived != null);
  const close = () => setAsked(null);
  const actions = [
    { label: "Cancel", act: () => setAsked("cancel"), isOff: active.length === 0 },
    { label: "Tag", act: () => setAsked("tag"), isOff: runs.length === 0 },
    { label: areArchived ? "Restore" : "Archive", act: () => void archiveRuns(queries, ids, !areArchived).then(onClear), isOff: runs.length === 0 },
    {
      label: "Delete",
      act: () => {
        deleteRuns(queries, ended);
        onClear();
      },
      isOff: ended.length === 0,
      title: ended.length < runs.length ? "Only runs that have ended are deleted" : undefined,
    },
  ];
  useActions(actions.filter(({ isOff }) => !isOff).map(({ label, act }) => ({ label: `${label} ${counted(runs.length, "selected run")}`, act })));

  return (
    <div className="bulk" role="toolbar" aria-label="Selected runs">
      <span>{runs.length} selected</span>
      {actions.map(({ label, act, isOff, title }) => (
        <button key={label} type="button" onClick={act} disabled={isOff} title={title}>
          {label}
        </button>
      ))}
      <button type="button" className="quiet soft" onClick={onClear}>
        clear
      </button>
      <Window title={`Cancel ${counted(active.length, "run")}?`} role="alertdialog" isOpen={asked === "cancel"} onClose={close}>
        <p>{active.length === 1 ? "Its processes are" : "Their processes are"} stopped. This cannot be undone; a canceled run can be restarted.</p>
        <div className="tools">
          <button
            type="button"
            className="main"
            autoFocus
            onClick={() => {
              void cancelRuns(queries, active.map((run) => run.id));
              close();
            }}
          >
            Cancel {counted(active.length, "run")}
          </button>
          <button type="button" onClick={close}>
            Keep running
          </button>
        </div>
      </Window>
      <Window title={`Tag ${counted(runs.length, "run")}`} isOpen={asked === "tag"} onClose={close}>
        <TagForm
          onTag={(name, value) => {
            void tagRuns(queries, runs, name, value);
            close();
          }}
        />
      </Window>
    </div>
  );
}

function TagForm({ onTag }: { onTag: (name: string, value: string | null) => void }) {
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    onTag(String(form.get("name")).trim(), String(form.get("value")).trim() || null);
  }
  return (
    <form className="fields" onSubmit={submit}>
      <label>
        Name <input name="name" required autoFocus autoComplete="off" />
      </label>
      <label>
        Value <input name="value" autoComplete="off" placeholder="none" />
      </label>
      <button type="submit" className="main">
        Tag
      </button>
    </form>
  );
}
