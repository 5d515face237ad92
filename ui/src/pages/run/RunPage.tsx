import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useChanges } from "../../data/changes";
import { run as runQuery } from "../../data/queries";
import { ProblemNote } from "../../parts/ProblemNote";
import type { RunSearch } from "../../routes";
import { Charts } from "./Charts";
import { Files } from "./Files";
import { Head } from "./Head";
import { Logs } from "./Logs";
import { Overview } from "./Overview";
import { Story } from "./Story";

const route = getRouteApi("/signed-in/w/$workspace/runs/$run");
const TABS = ["overview", "charts", "logs", "hardware", "files", "story"] as const;

export function RunPage() {
  const { workspace, run: id } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useChanges(workspace);
  const { data: run, error } = useQuery(runQuery(id));
  const tab = search.tab ?? "overview";
  const change = (part: Partial<RunSearch>) => navigate({ search: (before: RunSearch) => ({ ...before, ...part }), replace: true });

  if (error && !run) return <ProblemNote error={error} />;
  if (!run) return null;
  return (
    <>
      <Head run={run} workspace={workspace} />
      <nav className="tabs" aria-label="Parts of the run">
        {TABS.map((each) => (
          <Link
            key={each}
            to="."
            search={(before: RunSearch) => ({ ...before, tab: each === "overview" ? undefined : each })}
            className={each === tab ? "on" : undefined}
            aria-current={each === tab ? "page" : undefined}
          >
            {each.charAt(0).toUpperCase() + each.slice(1)}
          </Link>
        ))}
      </nav>
      {tab === "overview" ? <Overview run={run} workspace={workspace} search={search} /> : null}
      {tab === "charts" ? <Charts run={run} workspace={workspace} search={search} onChange={change} /> : null}
      {tab === "hardware" ? <Charts run={run} workspace={workspace} search={search} onChange={change} system /> : null}
      {tab === "logs" ? <Logs run={run} search={search} onChange={change} /> : null}
      {tab === "files" ? <Files run={run} search={search} onChange={change} /> : null}
      {tab === "story" ? <Story run={run} /> : null}
    </>
  );
}
