/** The session of this browser. The cookie alone opens nothing: each request carries the secret beside it. */
import { client } from "../api/client.gen";
import { beginSession, endSession } from "../api/sdk.gen";

const KEY = "footplate-page";
const HEADER = "x-footplate-page";

export function connect(): void {
  client.setConfig({ baseUrl: window.location.origin, throwOnError: true, headers: sessionHeaders() });
}

export function sessionHeaders(): Record<string, string> {
  const secret = localStorage.getItem(KEY);
  return secret ? { [HEADER]: secret } : {};
}

export function isSignedIn(): boolean {
  return localStorage.getItem(KEY) !== null;
}

/** Sign in with the one-time code of a link, or with the token of a team server. */
export async function signIn(by: { code: string } | { token: string }): Promise<void> {
  const headers = "token" in by ? { Authorization: `Bearer ${by.token}` } : {};
  const { data } = await beginSession({ body: { code: "code" in by ? by.code : null }, headers });
  localStorage.setItem(KEY, data.secret);
  connect();
}

/** Forget the session in this browser, for one that the server does not know any more. */
export function forgetSession(): void {
  localStorage.removeItem(KEY);
  connect();
}

export async function signOut(): Promise<void> {
  try {
    await endSession();
  } finally {
    forgetSession();
  }
}
