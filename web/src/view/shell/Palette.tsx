import { Combobox, ComboboxItem, ComboboxList, ComboboxProvider } from "@ariakit/react";
import { type ReactNode, useState } from "react";
import { useWords } from "../../words";
import { Dialog } from "../parts/Dialog";
import menu from "../parts/menu.module.css";
import parts from "../parts/parts.module.css";
import { conversationOf, isActive, newestRun, newestTurn, openRequests, useActions, usePage } from "../store";
import { focusKey, togglePanel } from "./Keys";
import { showNextRequest } from "./requestFocus";
import styles from "./shell.module.css";

/** The most conversations in the list. */
const MOST = 50;

interface PaletteProps {
  readonly onKeys: () => void;
  readonly onClose: () => void;
}

/** Actions and conversations by name; loaded with its first use. */
export function Palette({ onKeys, onClose }: PaletteProps): ReactNode {
  const words = useWords();
  const actions = useActions();
  const [text, setText] = useState("");
  const conversations = usePage((state) => state.conversations.items);
  const hasPanel = usePage((state) => newestTurn(conversationOf(state)) !== null);
  const isWorking = usePage((state) => isActive(newestTurn(conversationOf(state))));
  const run = usePage(newestRun);
  const requests = openRequests(run);

  const entries: readonly (readonly [string, string, () => void])[] = [
    ["new", words.keys.newQuestion, () => actions.open(null)],
    ...(requests.length > 0 ? [["request", words.keys.nextRequest, () => showNextRequest(requests)] as const] : []),
    ...(isWorking ? [["stop", words.keys.stop, () => actions.stop()] as const] : []),
    ["box", words.keys.box, () => focusKey("box")],
    ...(hasPanel ? [["panel", words.keys.panel, togglePanel] as const] : []),
    ["keys", words.keys.show, onKeys],
    ...conversations.map((item) => [item.session, item.title, () => actions.open(item.session)] as const),
  ];
  const wanted = text.trim().toLocaleLowerCase();
  const found = entries.filter(([, name]) => name.toLocaleLowerCase().includes(wanted)).slice(0, MOST);
  const choose = (action: () => void): void => {
    onClose();
    // The closing dialog returns the focus first.
    requestAnimationFrame(action);
  };
  return (
    <Dialog title={words.keys.palette} onClose={onClose} isTitleHidden>
      <ComboboxProvider value={text} setValue={setText} open focusLoop resetValueOnHide={false}>
        <Combobox
          className={parts.field}
          aria-label={words.keys.find}
          placeholder={words.keys.find}
          autoSelect="always"
          autoFocus
        />
        <ComboboxList className={styles.palette} aria-label={words.keys.palette} alwaysVisible>
          {found.map(([key, name, action]) => (
            <ComboboxItem key={key} value={key} className={menu.item} focusOnHover setValueOnClick={false} onClick={() => choose(action)}>
              <bdi className={styles.paletteName}>{name}</bdi>
            </ComboboxItem>
          ))}
        </ComboboxList>
        {found.length === 0 ? <p className={parts.soft}>{words.keys.noneFound}</p> : null}
      </ComboboxProvider>
    </Dialog>
  );
}
