import { type ReactNode, useEffect, useRef } from "react";
import type { Citation, Source } from "../../store/types";
import { useWords } from "../../words";
import { citedAddress } from "../markdown/citations";
import { allowedAddress, hostOf } from "../markdown/links";
import styles from "./panel.module.css";

interface SourcesProps {
  readonly citations: readonly Citation[];
  readonly sources: ReadonlyMap<string, Source>;
  /** The source to show first. */
  readonly chosen: number | null;
}

/** The pages that were found and are not cited. */
export function otherSources(citations: readonly Citation[], sources: ReadonlyMap<string, Source>): readonly Source[] {
  const cited = new Set(citations.map((citation) => citation.url));
  const found = new Map([...sources.values()].map((source) => [citedAddress(source.url), source]));
  return [...found].filter(([address]) => !cited.has(address)).map(([, source]) => source);
}

export function Sources({ citations, sources, chosen }: SourcesProps): ReactNode {
  const words = useWords();
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (chosen !== null) list.current?.querySelector(`[data-source="${chosen}"]`)?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  if (citations.length === 0 && sources.size === 0) return <p className={styles.none}>{words.sources.none}</p>;
  const found = new Map([...sources.values()].map((source) => [citedAddress(source.url), source]));
  const others = otherSources(citations, sources);
  return (
    <div ref={list}>
      {citations.length > 0 ? (
        <>
          <h3 className={styles.heading}>{words.sources.cited}</h3>
          <ol className={styles.sources}>
            {citations.map((citation) => (
              <li
                key={citation.n}
                data-source={citation.n}
                className={citation.n === chosen ? styles.chosen : undefined}
              >
                <SourceView
                  number={citation.n}
                  title={citation.title}
                  url={citation.url}
                  excerpt={found.get(citation.url)?.excerpt ?? ""}
                />
              </li>
            ))}
          </ol>
        </>
      ) : null}
      {others.length > 0 ? (
        <>
          <h3 className={styles.heading}>{words.sources.found}</h3>
          <ul className={styles.sources}>
            {others.map((source) => (
              <li key={source.url}>
                <SourceView number={null} title={source.title} url={source.url} excerpt={source.excerpt} />
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </div>
  );
}

/** An excerpt without the marks of Markdown. */
const plainText = (text: string): string =>
  text
    .replace(/^\s*(?:#{1,6}|[-+>])\s+/gm, "")
    .replace(/\\([_*#[\]`])/g, "$1")
    .replace(/\*\*|`|^\s*\|[\s|:-]*\|\s*$/gm, "")
    .replace(/[ \t]*(?:\|[ \t]*)+/g, " · ")
    .replace(/^ · | · $/gm, "");

function SourceView({
  number,
  title,
  url,
  excerpt,
}: {
  number: number | null;
  title: string;
  url: string;
  excerpt: string;
}): ReactNode {
  const address = allowedAddress(url);
  const name = <bdi>{title || url}</bdi>;
  return (
    <div className={styles.source}>
      {number === null ? null : <span className={styles.sourceNumber}>{number}</span>}
      <div>
        {address ? (
          <a href={address} target="_blank" rel="noopener noreferrer">
            {name}
          </a>
        ) : (
          <span>{name}</span>
        )}
        <span className={styles.host}>{hostOf(url)}</span>
        {excerpt ? <p className={styles.excerpt}>{plainText(excerpt)}</p> : null}
      </div>
    </div>
  );
}
