import { useQuery } from "@tanstack/react-query";
import { counted } from "../../data/format";
import { runCount, type RunsFilter } from "../../data/runQueries";

/** How many runs are shown, and of how many. */
export function useCountText(workspace: string, filter: RunsFilter): string {
  const { data: shown } = useQuery(runCount(workspace, filter));
  const { data: all } = useQuery({ ...runCount(workspace, { where: "", archived: filter.archived }), enabled: filter.where !== "" });
  if (!shown) return "";
  const more = shown.more ? " and more" : "";
  // A filter finds children, too, so that it can find more than there are at the top.
  if (!filter.where || !all || all.count < shown.count) return counted(shown.count, "run") + more;
  return `${shown.count.toLocaleString("en")} of ${counted(all.count, "run")}`;
}
