import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { parseColumn, titleOf } from "../../data/columns";
import { equals, fieldOf, withCondition } from "../../data/filterText";
import { GROUP_PARTS, partText, sortGroups } from "../../data/groups";
import { runGroups } from "../../data/runQueries";
import { ProblemNote } from "../../parts/ProblemNote";
import { Time } from "../../parts/Time";
import type { RunsView } from "./useRunsView";

/** The runs by the value of a parameter or a tag: how many, and the range of each shown metric. */
export function GroupsTable({ view, by, metrics }: { view: RunsView; by: string; metrics: string[] }) {
  const { workspace, where, archived, search, change } = view;
  const { kind, name } = parseColumn(by);
  const { data, error, isPlaceholderData } = useQuery(runGroups(workspace, { where, archived }, fieldOf(kind, name), metrics));
  const order = search.order ?? "runs";
  const ascending = search.ascending ?? false;
  const groups = useMemo(() => sortGroups(data ?? [], order, ascending), [data, order, ascending]);
  if (error) return <ProblemNote error={error} />;

  function heading(title: string, own: string, side = "num") {
    const isSorted = own === order;
    return (
      <th key={own} scope="col" className={side} aria-sort={isSorted ? (ascending ? "ascending" : "descending") : undefined}>
        <button
          type="button"
          className="quiet"
          onClick={() => change({ order: own, ascending: isSorted ? !ascending : own !== "runs" }, { isStep: true })}
        >
          {title}
          {isSorted ? (ascending ? " ↑" : " ↓") : ""}
        </button>
      </th>
    );
  }

  return (
    <div className={isPlaceholderData ? "table stale" : "table"}>
      <table className="groups" aria-label={`Runs by ${titleOf(by)}`}>
        <thead>
          <tr>
            {heading(titleOf(by), "value", "")}
            {heading("Runs", "runs")}
            {metrics.flatMap((metric) => GROUP_PARTS.map((part) => heading(`${metric} ${part}`, `${part}(metrics.${metric})`, "num wide")))}
            <th scope="col" className="num">
              Newest
            </th>
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <tr key={group.value ?? ""}>
              <td>
                <button
                  type="button"
                  className="quiet link"
                  onClick={() =>
                    change({ where: withCondition(where, equals(kind, name, group.value ?? null)), group: undefined, order: undefined, ascending: undefined }, { isStep: true })
                  }
                >
                  {group.value ?? <span className="soft">without {titleOf(by)}</span>}
                </button>
              </td>
              <td className="num">{group.runs.toLocaleString("en")}</td>
              {metrics.flatMap((metric) =>
                GROUP_PARTS.map((part) => (
                  <td key={`${metric} ${part}`} className="num wide">
                    {partText(group, metric, part)}
                  </td>
                )),
              )}
              <td className="num soft">
                <Time time={group.newest} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {data?.length === 1000 ? <p className="soft tools">The 1,000 largest groups are shown: narrow the filter to see others.</p> : null}
    </div>
  );
}
