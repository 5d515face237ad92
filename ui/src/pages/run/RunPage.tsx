import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useCallback } from "react";
import { useChanges } from "../../data/changes";
import { run as runQuery } from "../../data/queries";
import { parseMoment, type RunSearch, TABS, type Tab } from "../../data/run/search";
import { ProblemNote } from "../../parts/ProblemNote";
import { Head } from "./Head";
import { Overview } from "./Overview";
import type { RunPart } from "./part";
import "./run.css";

const route = getRouteApi("/signed-in/w/$workspace/runs/$run");

/** Each part loads when it is opened. */
const PARTS: Record<Tab, React.ComponentType<RunPart>> = {
  overview: Overview,
  charts: lazy(() => import("./Charts").then((module) => ({ default: module.Charts }))),
  logs: lazy(() => import("./Logs").then((module) => ({ default: module.Logs }))),
  hardware: lazy(() => import("./Hardware").then((module) => ({ default: module.Hardware }))),
  files: lazy(() => import("./Files").then((module) => ({ default: module.Files }))),
  code: lazy(() => import("./Code").then((module) => ({ default: module.Code }))),
  environment: lazy(() => import("./Environment").then((module) => ({ default: module.Environment }))),
  data: lazy(() => import("./Data").then((module) => ({ default: module.Data }))),
  story: lazy(() => import("./Story").then((module) => ({ default: module.Story }))),
};

const MomentPanel = lazy(() => import("./MomentPanel").then((module) => ({ default: module.MomentPanel })));
const WITH_MOMENT: Tab[] = ["overview", "charts", "hardware"];

export function RunPage() {
  const { workspace, run: id } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useChanges(workspace);
  const { data: run, error } = useQuery(runQuery(id));
  const tab = search.tab ?? "overview";
  const change = useCallback(
    (part: Partial<RunSearch>) => void navigate({ search: (before: RunSearch) => ({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  const moment = parseMoment(search.at);

  if (error && !run) return <ProblemNote error={error} />;
  if (!run) return null;
  const Part = PARTS[tab];
  return (
    <>
      <Head run={run} workspace={workspace} />
      <nav className="tabs" aria-label="Parts of the run">
        {TABS.map((each) => (
          <Link
            key={each}
            to="."
            search={(before: RunSearch) => searchOf(before, each)}
            className={each === tab ? "on" : undefined}
            aria-current={each === tab ? "page" : undefined}
          >
            {each.charAt(0).toUpperCase() + each.slice(1)}
          </Link>
        ))}
      </nav>
      <Suspense fallback={null}>
        <Part run={run} workspace={workspace} search={search} change={change} />
        {moment && WITH_MOMENT.includes(tab) ? <MomentPanel run={run} workspace={workspace} change={change} moment={moment} /> : null}
      </Suspense>
    </>
  );
}

/** Another part keeps the view of the charts; a file belongs to the part that opened it. */
function searchOf(before: RunSearch, tab: Tab): RunSearch {
  return { ...before, tab: tab === "overview" ? undefined : tab, file: undefined, line: undefined };
}
