import { useQuery } from "@tanstack/react-query";
import { Navigate } from "@tanstack/react-router";
import { workspaces } from "../data/queries";
import { CopyButton } from "../parts/CopyButton";
import { ProblemNote } from "../parts/ProblemNote";

/** Leads to the first workspace, or says how to make one. */
export function Home() {
  const { data, error } = useQuery(workspaces);
  if (error) return <ProblemNote error={error} />;
  const first = data?.[0];
  if (first) return <Navigate to="/w/$workspace/runs" params={{ workspace: first.id }} replace />;
  if (!data) return null;
  return (
    <section className="empty">
      <h1>No workspace yet</h1>
      <p>Link a folder with your code to a workspace:</p>
      <pre>footplate init</pre>
      <CopyButton text="footplate init" />
    </section>
  );
}
