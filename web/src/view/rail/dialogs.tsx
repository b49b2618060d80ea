import { type ReactNode, useState } from "react";
import type { ConversationSummary } from "../../store/types";
import { useWords } from "../../words";
import { Dialog } from "../parts/Dialog";
import parts from "../parts/parts.module.css";
import { useActions } from "../store";

interface DialogOfItem {
  readonly item: ConversationSummary;
  readonly onClose: () => void;
}

/** The longest title, in characters. */
const LONGEST_TITLE = 200;

export function RenameDialog({ item, onClose }: DialogOfItem): ReactNode {
  const words = useWords();
  const actions = useActions();
  const [title, setTitle] = useState(item.title);
  return (
    <Dialog title={words.rail.renameTitle} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!title.trim()) return;
          actions.rename(item.session, title.trim());
          onClose();
        }}
      >
        <input
          className={parts.field}
          aria-label={words.rail.titleField}
          value={title}
          maxLength={LONGEST_TITLE}
          autoFocus
          onChange={(event) => setTitle(event.target.value)}
        />
        <div className={parts.end}>
          <button type="button" className={`${parts.button} ${parts.plain}`} onClick={onClose}>
            {words.page.cancel}
          </button>
          <button type="submit" className={`${parts.button} ${parts.go}`} disabled={!title.trim()}>
            {words.page.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function RemoveDialog({ item, onClose }: DialogOfItem): ReactNode {
  const words = useWords();
  const actions = useActions();
  return (
    <Dialog title={words.rail.removeTitle} onClose={onClose}>
      <p className={parts.soft}>{words.rail.removeBody(item.title)}</p>
      <div className={parts.end}>
        <button type="button" className={`${parts.button} ${parts.plain}`} onClick={onClose}>
          {words.page.cancel}
        </button>
        <button
          type="button"
          className={`${parts.button} ${parts.danger}`}
          onClick={() => {
            actions.remove(item.session);
            onClose();
          }}
        >
          {words.rail.remove}
        </button>
      </div>
    </Dialog>
  );
}
