import type { Mark } from "../data/runStates";

/** The state of a run as a shape and a colour; the text beside it says the same in words. */
export function StateMark({ mark }: { mark: Mark }) {
  return <span className={`mark ${mark}`} aria-hidden="true" />;
}
