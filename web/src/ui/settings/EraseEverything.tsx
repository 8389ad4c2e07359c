import { useState } from "react";
import { asProblem } from "../../api/problem";
import type { Receipt } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { createLeaving } from "../../state/leaving";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { ProblemBar } from "../parts/ProblemBar";
import { TextField } from "../parts/TextField";
import { ErasureReceipt } from "./ErasureReceipt";

const WORDS = "erase everything";

/** Erase all that is the user's, after they typed that they want it, and show the receipt. */
export function EraseEverything() {
  const { archive, client, layout, outbox } = useApp();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const [isErasing, setErasing] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const isConfirmed = typed.trim().toLowerCase() === WORDS;

  const erase = async () => {
    if (!isConfirmed || isErasing) return;
    setErasing(true);
    setProblem(null);
    try {
      // What only this browser has is the user's too: it is sent first, so that it is erased with all else.
      await archive.flush();
      layout.setReceipt(true);
      const answer = await client.answer("DELETE", "/api/me");
      setReceipt((await answer.json()) as Receipt);
      await createLeaving(() => window.localStorage, outbox).clear();
    } catch (error) {
      layout.setReceipt(false);
      setProblem(asProblem(error).message);
    } finally {
      setErasing(false);
    }
  };

  const close = (isStill: boolean) => {
    if (isStill || isErasing) return;
    // Nothing that was read before holds any longer.
    if (receipt) {
      window.location.hash = "#/new";
      window.location.reload();
      return;
    }
    setOpen(false);
    setTyped("");
    setProblem(null);
  };

  return (
    <>
      <Button look="danger" className="self-start" onClick={() => setOpen(true)}>
        Erase everything…
      </Button>
      {isOpen &&
        (receipt ? (
          <Dialog isOpen onOpenChange={close} title="Everything is erased">
            <ErasureReceipt receipt={receipt} onClose={() => close(false)} />
          </Dialog>
        ) : (
          <Dialog
            isOpen
            onOpenChange={close}
            title="Erase everything?"
            description="All your conversations, memories, notes, preferences and API keys are erased at once, for all agents. This cannot be undone, and what is erased cannot be imported again."
          >
            <form
              className="flex flex-col gap-3"
              onSubmit={(event) => {
                event.preventDefault();
                void erase();
              }}
            >
              <p className="text-sm">
                Export your data first if you may want it. To go on, type <strong>{WORDS}</strong>.
              </p>
              <TextField
                label={`Type “${WORDS}”`}
                autoComplete="off"
                autoCapitalize="none"
                spellCheck={false}
                value={typed}
                onChange={(event) => setTyped(event.target.value)}
              />
              {problem && <ProblemBar>No receipt came: {problem} Try again; erasing twice does no harm.</ProblemBar>}
              <div className="mt-2 flex justify-end gap-2">
                <Button onClick={() => close(false)}>Cancel</Button>
                <Button look="danger" type="submit" disabled={!isConfirmed || isErasing}>
                  {isErasing ? "Erasing…" : "Erase everything"}
                </Button>
              </div>
            </form>
          </Dialog>
        ))}
    </>
  );
}
