import { Button } from "./Button";
import { Dialog } from "./Dialog";

interface ConfirmProps {
  isOpen: boolean;
  title: string;
  text: string;
  action: string;
  onAnswer: (isConfirmed: boolean) => void;
}

/** Ask before something that cannot be undone. */
export default function Confirm({ isOpen, title, text, action, onAnswer }: ConfirmProps) {
  return (
    <Dialog isOpen={isOpen} onOpenChange={(isStill) => !isStill && onAnswer(false)} title={title} description={text}>
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={() => onAnswer(false)}>Cancel</Button>
        <Button look="danger" onClick={() => onAnswer(true)}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
