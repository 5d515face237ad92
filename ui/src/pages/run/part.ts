import type { RunView } from "../../api/types.gen";
import type { RunSearch } from "../../data/run/search";

/** What each part of the page of a run gets: the run, and the view as the address holds it. */
export interface RunPart {
  run: RunView;
  workspace: string;
  search: RunSearch;
  change: (part: Partial<RunSearch>) => void;
}
