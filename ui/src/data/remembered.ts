/** The arrangement of the table that this browser remembers for a workspace, for addresses that have none. */
import { type RunsSearch, readRunsSearch } from "./runsSearch";

function keyOf(workspace: string): string {
  return `footplate-columns-${workspace}`;
}

export function rememberColumns(workspace: string, { columns, widths }: RunsSearch): void {
  localStorage.setItem(keyOf(workspace), JSON.stringify({ columns, widths }));
}

export function rememberedColumns(workspace: string): Pick<RunsSearch, "columns" | "widths"> {
  try {
    const { columns, widths } = readRunsSearch(JSON.parse(localStorage.getItem(keyOf(workspace)) ?? "{}") ?? {});
    return { columns, widths };
  } catch {
    return {}; // written by something else
  }
}

/** The last view of this tab, so that the link to the runs leads back to it. */
export function rememberView(workspace: string, search: RunsSearch): void {
  sessionStorage.setItem(keyOf(workspace), JSON.stringify(search));
}

export function rememberedView(workspace: string): RunsSearch {
  try {
    return readRunsSearch(JSON.parse(sessionStorage.getItem(keyOf(workspace)) ?? "{}") ?? {});
  } catch {
    return {};
  }
}
