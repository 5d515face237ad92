import { useQuery } from "@tanstack/react-query";
import { runCount } from "../../data/runQueries";
import { StateMark } from "../../parts/StateMark";

const RUNNING = ["Running", "Finalizing"];
const WAITING = ["Starting", "Preparing", "Queued", "Provisioning"];
const ALL = { where: "", archived: false };

/** How many runs are running and waiting; a click shows them. */
export function LiveCounts({ workspace, onShow }: { workspace: string; onShow: (where: string) => void }) {
  const { data: running } = useQuery(runCount(workspace, ALL, RUNNING));
  const { data: waiting } = useQuery(runCount(workspace, ALL, WAITING));
  if (!running || !waiting || running.count + waiting.count === 0) return null;
  const show = (statuses: string[]) => onShow(statuses.map((status) => `status == ${status}`).join(" or "));
  return (
    <span className="live">
      <button type="button" className="quiet" onClick={() => show(RUNNING)}>
        <StateMark mark="running" />
        {running.count.toLocaleString("en")} running
      </button>
      <button type="button" className="quiet" onClick={() => show(WAITING)}>
        <StateMark mark="waiting" />
        {waiting.count.toLocaleString("en")} waiting
      </button>
    </span>
  );
}
