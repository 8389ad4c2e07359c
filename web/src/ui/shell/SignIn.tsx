import { type FormEvent, useEffect, useRef, useState } from "react";
import { asProblem, type Problem } from "../../api/problem";
import { useApp } from "../../app/AppContext";
import { Button } from "../parts/Button";
import { TextField } from "../parts/TextField";

/** Ask for the key that the server wants; the browser keeps it where no script can read it. */
export default function SignIn() {
  const { client } = useApp();
  const [token, setToken] = useState("");
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);

  useEffect(() => {
    document.title = "Sign in · Recollect";
    field.current?.focus();
  }, []);

  const signIn = async (event: FormEvent) => {
    event.preventDefault();
    if (!token.trim() || isAsking) return;
    setAsking(true);
    setProblem(null);
    try {
      await client.post("/api/session", { token: token.trim() });
      // Everything that was refused is asked for again.
      window.location.reload();
    } catch (error) {
      setProblem(said(asProblem(error)));
      setAsking(false);
      field.current?.select();
    }
  };

  return (
    <main className="grid h-dvh place-items-center overflow-y-auto p-6">
      <form
        onSubmit={signIn}
        aria-label="Sign in"
        className="appears flex w-full max-w-sm flex-col gap-4 rounded-panel border border-line bg-surface p-6 shadow-soft"
      >
        <div className="flex items-center gap-3">
          <img src="./icon.svg" alt="" className="size-9" />
          <h1 className="font-semibold text-xl">Recollect</h1>
        </div>
        <p className="text-soft">This server asks who you are. Enter your API key or token.</p>
        <TextField
          ref={field}
          label="API key or token"
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          aria-invalid={problem !== null}
          aria-describedby="sign-in-problem"
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        <p id="sign-in-problem" role="alert" className="text-danger text-sm empty:hidden">
          {problem}
        </p>
        <Button look="solid" type="submit" disabled={!token.trim() || isAsking}>
          {isAsking ? "Signing in…" : "Sign in"}
        </Button>
        <details className="text-sm text-soft">
          <summary className="min-h-6 py-1 hover:text-ink pointer-coarse:min-h-11">Where do I get a key?</summary>
          <p className="mt-1">
            Whoever runs the server makes one with{" "}
            <code className="rounded bg-sunken px-1 py-0.5 font-mono text-xs">
              recollect keys create NAME --user YOU
            </code>
            . This browser keeps it for 30 days in a cookie that no script can read, until you sign out.
          </p>
        </details>
      </form>
    </main>
  );
}

/** Say what went wrong so that the reader knows what to do. */
function said(problem: Problem): string {
  if (problem.status === 401) return "The server does not know this key. Check that it is whole and was not revoked.";
  if (problem.status === 422) return "This is no key or token. Copy it again, without spaces in it.";
  if (problem.isPassing) return `${problem.message} Try again in a moment.`;
  return problem.message;
}
