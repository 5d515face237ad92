/** Server state that only the page of a run needs. */
import { queryOptions } from "@tanstack/react-query";
import { getLineage, getLockOfRun, listDatasetsOfRun } from "../../api/sdk.gen";
import { sessionHeaders } from "../session";

/** Content by its digest, such as a file of a snapshot. */
export async function readBlob(digest: string): Promise<Blob> {
  const response = await fetch(`/api/v1/blobs/${encodeURIComponent(digest)}`, { headers: sessionHeaders() });
  if (!response.ok) throw await response.json();
  return response.blob();
}

export function lockOf(run: string) {
  return queryOptions({ queryKey: ["lock", run], queryFn: async () => (await getLockOfRun({ path: { run } })).data, retry: false });
}

export function dataOf(run: string) {
  return queryOptions({ queryKey: ["run", run, "datasets"], queryFn: async () => (await listDatasetsOfRun({ path: { run } })).data.items });
}

export function lineageOf(workspace: string, id: string) {
  return queryOptions({ queryKey: ["lineage", workspace, id], queryFn: async () => (await getLineage({ path: { workspace, id } })).data });
}

/** Files of a run, packed by the server. */
export async function readArchive(run: string, prefix: string): Promise<Blob> {
  const query = new URLSearchParams({ prefix });
  const response = await fetch(`/api/v1/runs/${encodeURIComponent(run)}/archive?${query}`, { headers: sessionHeaders() });
  if (!response.ok) throw await response.json();
  return response.blob();
}
