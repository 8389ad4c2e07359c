import { type FormEvent, useState } from "react";
import { asProblem } from "../../api/problem";
import { useApp } from "../../app/AppContext";
import { Button } from "../parts/Button";
import { TextField } from "../parts/TextField";

/** Ask for the key that the server wants; the browser keeps it where no script can read it. */
export default function SignIn() {
  const { client } = useApp();
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | null>(null);

  const signIn = async (event: FormEvent) => {
    event.preventDefault();
    try {
      await client.post("/api/session", { token: token.trim() });
      window.location.reload();
    } catch (error) {
      setProblem(asProblem(error).message);
    }
  };

  return (
    <main className="grid h-dvh place-items-center p-6">
      <form
        onSubmit={signIn}
        className="flex w-full max-w-sm flex-col gap-4 rounded-panel border border-line bg-surface p-6 shadow-soft"
      >
        <h1 className="font-semibold text-xl">Recollect</h1>
        <p className="text-soft">This server asks who you are. Enter your API key or token.</p>
        <TextField
          label="API key or token"
          type="password"
          autoComplete="current-password"
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        {problem && (
          <p role="alert" className="text-danger text-sm">
            {problem}
          </p>
        )}
        <Button look="solid" type="submit" disabled={!token.trim()}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
