import { problemOf } from "../data/errors";
import { forgetSession } from "../data/session";

/** An error in the words of the server, with its hint. */
export function ProblemNote({ error }: { error: unknown }) {
  const { message, hint, isSignedOut } = problemOf(error);
  return (
    <div className="note failed" role="alert">
      <p>{message}</p>
      {hint ? <p className="soft">hint: {hint}</p> : null}
      {isSignedOut ? (
        <a href="/sign-in" onClick={forgetSession}>
          Sign in again
        </a>
      ) : null}
    </div>
  );
}
