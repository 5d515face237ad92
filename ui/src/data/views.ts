/** Views of the table that the server keeps for everybody in a workspace. */
import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { deleteView as deleteOnServer, listViews, saveView as saveOnServer } from "../api/sdk.gen";
import { type RunsSearch, readRunsSearch, savedPart } from "./runsSearch";

export interface NamedView {
  name: string;
  search: RunsSearch;
}

export function views(workspace: string) {
  return queryOptions({
    queryKey: ["views", workspace],
    queryFn: async (): Promise<NamedView[]> => {
      const { data } = await listViews({ path: { workspace } });
      return data.items.map(({ name, search }) => ({ name, search: readRunsSearch(search as Record<string, unknown>) }));
    },
    staleTime: 60_000,
  });
}

export async function saveView(queries: QueryClient, workspace: string, name: string, search: RunsSearch): Promise<void> {
  await saveOnServer({ path: { workspace, name }, body: { search: { ...savedPart(search) } } });
  await queries.invalidateQueries({ queryKey: ["views", workspace] });
}

export async function deleteView(queries: QueryClient, workspace: string, name: string): Promise<void> {
  await deleteOnServer({ path: { workspace, name } });
  await queries.invalidateQueries({ queryKey: ["views", workspace] });
}
