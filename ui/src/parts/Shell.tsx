import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { useServerIsAway } from "../data/changes";
import { workspaces } from "../data/queries";
import { signOut } from "../data/session";

/** What surrounds each page: the rail on the left, and a line when the server is away. */
export function Shell() {
  const { workspace } = useParams({ strict: false });
  const { data: known } = useQuery(workspaces);
  const away = useServerIsAway();
  const navigate = useNavigate();
  return (
    <div className="app">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <nav className="rail" aria-label="Pages">
        <Link to="/" className="brand">
          <img src="/icon.svg" alt="" width="18" height="18" /> Footplate
        </Link>
        {workspace && known ? (
          <select
            aria-label="Workspace"
            value={workspace}
            onChange={(event) => navigate({ to: "/w/$workspace/runs", params: { workspace: event.target.value } })}
          >
            {known.map((each) => (
              <option key={each.id} value={each.id}>
                {each.name}
              </option>
            ))}
          </select>
        ) : null}
        {workspace ? (
          <Link to="/w/$workspace/runs" params={{ workspace }} className="page" activeProps={{ className: "on" }}>
            Runs
          </Link>
        ) : null}
        <span className="space" />
        <button type="button" className="quiet" onClick={() => signOut().then(() => navigate({ to: "/sign-in" }))}>
          Sign out
        </button>
      </nav>
      <main id="content" tabIndex={-1}>
        {away ? (
          <div className="note waiting" role="status">
            The server does not answer. This page continues by itself when it is back; start it with{" "}
            <code>footplate ui</code>.
          </div>
        ) : null}
        <Outlet />
      </main>
    </div>
  );
}
