import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { isSignedIn, signIn } from "../../data/session";
import { ProblemNote } from "../../parts/ProblemNote";

// The code leaves the address before anything else happens, so that it is in no history. It can be redeemed only once.
let code = window.location.pathname === "/sign-in" ? window.location.hash.slice(1) : "";
if (code) window.history.replaceState(null, "", "/sign-in");
let redeemed: Promise<void> | null = null;

export function SignIn() {
  const navigate = useNavigate();
  const [error, setError] = useState<unknown>(null);

  useEffect(() => {
    if (!code) {
      if (isSignedIn()) void navigate({ to: "/", replace: true });
      return;
    }
    redeemed ??= signIn({ code });
    redeemed.then(() => {
      code = "";
      return navigate({ to: "/", replace: true });
    }, setError);
  }, [navigate]);

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const token = String(new FormData(event.currentTarget).get("token") ?? "").trim();
    signIn({ token }).then(() => navigate({ to: "/", replace: true }), setError);
  }

  if (code && !error) return <main className="sign-in">Signing in …</main>;
  return (
    <main className="sign-in">
      <h1>Sign in to Footplate</h1>
      <p>
        On your own machine, run <code>footplate ui</code> in a terminal: it opens this page, signed in. For the server
        of a team, enter your token. Somebody who owns the server creates one with <code>footplate tokens create</code>.
      </p>
      <form onSubmit={submit}>
        <label>
          Token <input name="token" type="password" autoComplete="current-password" required />
        </label>
        <button type="submit" className="main">
          Sign in
        </button>
      </form>
      {error ? <ProblemNote error={error} /> : null}
    </main>
  );
}
