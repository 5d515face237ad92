import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { useServerIsAway } from "../data/changes";
import { workspaces } from "../data/queries";
import { rememberedView } from "../data/remembered";
import { signOut } from "../data/session";
import { Notices } from "./Notices";
import { useShortcuts } from "./useShortcuts";

const Palette = lazy(() => import("./Palette"));
const KeysHelp = lazy(() => import("./KeysHelp"));

/** What surrounds each page: the rail on the left, the palette, notices, and a line when the server is away. */
export function Shell() {
  const { workspace } = useParams({ strict: false });
  const { data: known } = useQuery(workspaces);
  const away = useServerIsAway();
  const navigate = useNavigate();
  const [shown, setShown] = useState<"palette" | "keys" | null>(null);
  useShortcuts({ "mod+k": () => setShown("palette"), "?": () => setShown("keys") });
  const close = () => setShown(null);
  return (
    <div className="app">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <nav className="rail" aria-label="Pages">
        <Link to="/" className="brand" aria-label="Footplate">
          <img src="/icon.svg" alt="" width="18" height="18" /> <span>Footplate</span>
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
        <button type="button" className="find" onClick={() => setShown("palette")}>
          Go to <kbd>{isApple() ? "⌘K" : "Ctrl K"}</kbd>
        </button>
        {workspace ? (
          <Link to="/w/$workspace/runs" params={{ workspace }} search={() => rememberedView(workspace)} className="page" activeProps={{ className: "on" }} activeOptions={{ includeSearch: false }}>
            Runs
          </Link>
        ) : null}
        <span className="space" />
        <button type="button" className="quiet wide" onClick={() => setShown("keys")}>
          Keys <kbd>?</kbd>
        </button>
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
      <Notices />
      <Suspense>
        {shown === "palette" ? <Palette workspace={workspace} onClose={close} /> : null}
        {shown === "keys" ? <KeysHelp onClose={close} /> : null}
      </Suspense>
    </div>
  );
}

function isApple(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.userAgent);
}
