import { type ReactNode, useEffect, useRef, useState } from "react";
import { useWords } from "../../words";
import { allowedAddress, hostOf } from "../markdown/links";
import { Dialog } from "../parts/Dialog";
import parts from "../parts/parts.module.css";
import styles from "./files.module.css";

/** HTML that a model wrote, in a page of its own that can do nothing. */
export function HtmlFrame({ name, text }: { name: string; text: string }): ReactNode {
  const words = useWords();
  const frame = useRef<HTMLIFrameElement>(null);
  const [link, setLink] = useState<string | null>(null);
  useEffect(() => {
    const onMessage = (event: MessageEvent): void => {
      if (!frame.current || event.source !== frame.current.contentWindow) return;
      const data: unknown = event.data;
      if (typeof data !== "object" || data === null || !("kind" in data)) return;
      // The origin of a sandboxed page is opaque, so no other target can be named.
      if (data.kind === "ready") frame.current.contentWindow?.postMessage({ kind: "show", html: text }, "*");
      else if (data.kind === "link" && "href" in data && typeof data.href === "string")
        setLink(data.href.slice(0, 4_000));
    };
    addEventListener("message", onMessage);
    return () => removeEventListener("message", onMessage);
  }, [text]);
  const address = link === null ? null : allowedAddress(link);
  return (
    <>
      <iframe
        key={text}
        ref={frame}
        className={styles.frame}
        src="/preview.html"
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        title={words.files.frame(name)}
      />
      {link === null ? null : (
        <Dialog title={words.files.linkTitle} onClose={() => setLink(null)}>
          <p className={parts.soft}>{address ? words.files.linkBody : words.files.linkBad}</p>
          <p className={styles.address}>{address ?? link}</p>
          {address ? <p className={parts.soft}>{hostOf(address)}</p> : null}
          <div className={parts.end}>
            <button type="button" className={`${parts.button} ${parts.plain}`} onClick={() => setLink(null)}>
              {words.page.cancel}
            </button>
            {address ? (
              <a
                className={`${parts.button} ${parts.go}`}
                href={address}
                target="_blank"
                rel="noopener noreferrer"
                onClick={() => setLink(null)}
              >
                {words.files.linkOpen}
              </a>
            ) : null}
          </div>
        </Dialog>
      )}
    </>
  );
}
