/** The addresses of the page. A view is in its address as a whole: copy it, and somebody else sees the same. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { parseRunSearch } from "./data/run/search";
import { readRunsSearch } from "./data/runsSearch";
import { isSignedIn } from "./data/session";
import { Shell } from "./parts/Shell";
import { Home } from "./pages/Home";

const root = createRootRoute();

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: lazyRouteComponent(() => import("./pages/sign-in/SignIn"), "SignIn"),
});

const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  component: Shell,
  beforeLoad: () => {
    if (!isSignedIn()) throw redirect({ to: "/sign-in" });
  },
});

const home = createRoute({ getParentRoute: () => signedIn, path: "/", component: Home });

const runs = createRoute({
  getParentRoute: () => signedIn,
  path: "/w/$workspace/runs",
  validateSearch: readRunsSearch,
  component: lazyRouteComponent(() => import("./pages/runs/Runs"), "Runs"),
});

const run = createRoute({
  getParentRoute: () => signedIn,
  path: "/w/$workspace/runs/$run",
  validateSearch: parseRunSearch,
  component: lazyRouteComponent(() => import("./pages/run/RunPage"), "RunPage"),
});

export function makeRouter() {
  const routeTree = root.addChildren([signIn, signedIn.addChildren([home, runs, run])]);
  return createRouter({ routeTree, defaultPreload: "intent", scrollRestoration: true });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
