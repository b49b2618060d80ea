import { type ReactNode, useEffect, useRef, useState } from "react";
import { useWords } from "../../words";
import { canDecide, conversationOf, newestRun, newestTurn, openRequests, usePage } from "../store";

/** Tells screen readers about states, and the whole answer once; and counts in the tab's title. */
export function Announcer(): ReactNode {
  const words = useWords();
  const title = usePage((state) => {
    const conversation = conversationOf(state);
    return conversation?.title || conversation?.turns[0]?.question?.slice(0, 80) || "";
  });
  const key = usePage((state) => newestTurn(conversationOf(state))?.key ?? null);
  const status = usePage((state) => newestTurn(conversationOf(state))?.status ?? null);
  const hasWords = usePage((state) => {
    const root = newestRun(state)?.lanes.get("");
    return root !== undefined && root.rows.length + root.drafts.length > 0;
  });
  const answer = usePage((state) => newestRun(state)?.end?.answer ?? newestTurn(conversationOf(state))?.answer ?? "");
  const waiting = usePage((state) => (canDecide(state) ? openRequests(newestRun(state)).length : 0));
  const [text, setText] = useState("");
  const before = useRef({ key, status, hasWords, waiting });

  useEffect(() => {
    document.title =
      waiting > 0
        ? words.page.titleWaiting(waiting, title || words.page.name)
        : title
          ? `${title} · ${words.page.name}`
          : words.page.name;
  }, [waiting, title, words]);
  useEffect(() => {
    const last = before.current;
    before.current = { key, status, hasWords, waiting };
    if (last.key !== key || status === null) return;
    if (waiting > last.waiting) setText(words.announce.waiting(waiting));
    else if (status !== last.status && status === "finished") setText(words.announce.finished(answer));
    else if (status !== last.status && status === "failed") setText(words.announce.failed);
    else if (status !== last.status && status === "stopped") setText(words.announce.stopped);
    else if (hasWords && !last.hasWords && status === "running") setText(words.announce.started);
    else if (waiting < last.waiting) setText(words.announce.resolved);
  }, [key, status, hasWords, waiting, answer, words]);
  return (
    <div className="unseen" role="status" aria-live="polite">
      {text}
    </div>
  );
}
