/** Errors of the server, and of the way to it, as a message and a hint. */
export interface Problem {
  message: string;
  hint: string | null;
  isSignedOut: boolean;
  isAway: boolean;
}

interface WireError {
  error: { code: string; message: string; hint: string | null };
}

export function problemOf(error: unknown): Problem {
  if (isWireError(error)) {
    const { code, message, hint } = error.error;
    return { message, hint, isSignedOut: code === "not_allowed", isAway: code === "unavailable" };
  }
  if (error instanceof TypeError) {
    const hint = "the page continues by itself when the server is back; start it with: footplate ui";
    return { message: "the server does not answer", hint, isSignedOut: false, isAway: true };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { message, hint: null, isSignedOut: false, isAway: false };
}

function isWireError(error: unknown): error is WireError {
  return typeof error === "object" && error !== null && "error" in error && typeof error.error === "object";
}
