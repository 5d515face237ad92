import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { announce } from "../../data/notices";
import { isSameView, type RunsSearch } from "../../data/runsSearch";
import { type NamedView, deleteView, saveView, views as viewsQuery } from "../../data/views";
import { Window } from "../../parts/Window";

interface Props {
  workspace: string;
  search: RunsSearch;
}

/** Views that people of the workspace saved under a name. */
export function Views({ workspace, search }: Props) {
  const queries = useQueryClient();
  const { data: views = [] } = useQuery(viewsQuery(workspace));
  const [isNaming, setNaming] = useState(false);
  const open = views.find((view) => isSameView(view.search, search));
  const { columns, widths } = search;

  function store(name: string, view: RunsSearch, before: NamedView | undefined) {
    const back = () => (before ? saveView(queries, workspace, name, before.search) : deleteView(queries, workspace, name));
    saveView(queries, workspace, name, view).then(
      () => announce({ text: `Saved the view ${name}`, undo: () => void back() }),
      (error: unknown) => announce({ text: `The view ${name} could not be saved`, error }),
    );
  }

  function remove(view: NamedView) {
    deleteView(queries, workspace, view.name).then(
      () => announce({ text: `Deleted the view ${view.name}`, undo: () => void saveView(queries, workspace, view.name, view.search) }),
      (error: unknown) => announce({ text: `The view ${view.name} could not be deleted`, error }),
    );
  }

  function name(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const chosen = String(new FormData(event.currentTarget).get("name")).trim();
    store(chosen, search, views.find((view) => view.name === chosen));
    setNaming(false);
  }

  return (
    <nav className="tabs views" aria-label="Views">
      <ViewLink workspace={workspace} search={{ columns, widths }} isOpen={isSameView(search, { columns, widths })} name="All runs" />
      {views.map((view) => (
        <span key={view.name}>
          <ViewLink workspace={workspace} search={view.search} isOpen={view === open} name={view.name} />
          {view === open ? (
            <button type="button" className="quiet soft" aria-label={`Delete the view ${view.name}`} title="Delete this view" onClick={() => remove(view)}>
              ×
            </button>
          ) : null}
        </span>
      ))}
      {open ? null : (
        <button type="button" className="quiet soft" onClick={() => setNaming(true)}>
          + save view
        </button>
      )}
      <Window title="Save the view" isOpen={isNaming} onClose={() => setNaming(false)}>
        <form className="fields" onSubmit={name}>
          <p className="soft">Its filters, columns, order and grouping get a name that everybody in the workspace sees.</p>
          <label>
            Name <input name="name" required maxLength={100} pattern="[^\/]+" title="without slashes" autoFocus autoComplete="off" />
          </label>
          <button type="submit" className="main">
            Save
          </button>
        </form>
      </Window>
    </nav>
  );
}

function ViewLink({ workspace, search, isOpen, name }: { workspace: string; search: RunsSearch; isOpen: boolean; name: string }) {
  return (
    <Link to="/w/$workspace/runs" params={{ workspace }} search={search} className={isOpen ? "on" : ""} activeProps={{}} activeOptions={{ exact: true }} aria-current={isOpen ? "page" : undefined}>
      {name}
    </Link>
  );
}
