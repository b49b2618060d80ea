import type { ReactNode } from "react";
import { useWords } from "../../words";
import { lastWord, splitCitations } from "./citations";
import { useCitedSources, useSurroundings } from "./context";
import type { MarkdownToken } from "./lex";
import { allowedAddress, allowedImageData, fileName, hostOf } from "./links";
import { Maths } from "./Maths";
import styles from "./markdown.module.css";

/** The deepest nesting that is rendered; deeper tokens are shown as written. */
export const DEEPEST = 40;

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  mdash: "—",
  ndash: "–",
  hellip: "…",
  times: "×",
  deg: "°",
  rarr: "→",
  larr: "←",
  euro: "€",
};

/** Replaces the common HTML entities of a text. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name) return NAMED[String(name).toLowerCase()] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : "\ufffd";
  });
}

function Words({ text }: { text: string }): ReactNode {
  const { byNumber } = useCitedSources();
  const decoded = decodeEntities(text);
  if (byNumber.size === 0) return decoded;
  const pieces = splitCitations(decoded, (n) => byNumber.has(n));
  return pieces.map((piece, index) => {
    if (typeof piece === "string")
      return index < pieces.length - 1 ? piece.slice(0, piece.length - lastWord(piece).length) : piece;
    const before = pieces[index - 1];
    const word = typeof before === "string" ? lastWord(before) : "";
    return (
      <span key={index} className={styles.cited}>
        {word}
        {piece.map((n) => (
          <Cite key={n} n={n} />
        ))}
      </span>
    );
  });
}

function Cite({ n }: { n: number }): ReactNode {
  const { byNumber, open } = useCitedSources();
  const words = useWords();
  const { title, url } = byNumber.get(n) ?? { title: "", url: "" };
  const name = title || hostOf(url);
  const facts = { className: styles.cite, title: name, "aria-label": words.sources.cite(n, name) };
  if (open)
    return (
      <button type="button" {...facts} onClick={() => open(n)}>
        {n}
      </button>
    );
  const address = allowedAddress(url);
  if (!address) return `[${n}]`;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" {...facts}>
      {n}
    </a>
  );
}

function Link({ href, children }: { href: string; children: ReactNode }): ReactNode {
  const { hasFile, openFile } = useSurroundings();
  const address = allowedAddress(href);
  if (address) {
    return (
      <a href={address} title={address} target="_blank" rel="noopener noreferrer">
        <bdi>{children}</bdi>
      </a>
    );
  }
  const name = fileName(href);
  if (name !== null && hasFile(name)) {
    return (
      <button type="button" className={styles.fileLink} onClick={() => openFile(name)}>
        {children}
      </button>
    );
  }
  return <span title={href}>{children}</span>;
}

function Picture({ href, alt }: { href: string; alt: string }): ReactNode {
  const { imageOf } = useSurroundings();
  const words = useWords();
  const name = fileName(href);
  const source = allowedImageData(href) ?? (name === null ? null : imageOf(name));
  if (source)
    return <img className={styles.picture} src={source} alt={alt} loading="lazy" referrerPolicy="no-referrer" />;
  const label = words.text.image(alt || hostOf(href) || href);
  return <Link href={href}>{label}</Link>;
}

function isLineBreak(html: string): boolean {
  return /^<br\s*\/?>$/i.test(html.trim());
}

export function Inline({ tokens, depth }: { tokens: readonly MarkdownToken[]; depth: number }): ReactNode {
  if (depth > DEEPEST) return tokens.map((token) => token.raw).join("");
  return tokens.map((token, index) => <InlineToken key={index} token={token} depth={depth} />);
}

function inside(tokens: readonly unknown[] | undefined): readonly MarkdownToken[] {
  return (tokens ?? []) as readonly MarkdownToken[];
}

function InlineToken({ token, depth }: { token: MarkdownToken; depth: number }): ReactNode {
  switch (token.type) {
    case "text":
      return token.tokens ? <Inline tokens={inside(token.tokens)} depth={depth + 1} /> : <Words text={token.text} />;
    case "escape":
      return token.text;
    case "strong":
      return (
        <strong>
          <Inline tokens={inside(token.tokens)} depth={depth + 1} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Inline tokens={inside(token.tokens)} depth={depth + 1} />
        </em>
      );
    case "del":
      return (
        <del>
          <Inline tokens={inside(token.tokens)} depth={depth + 1} />
        </del>
      );
    case "codespan":
      return <code className={styles.codespan}>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return (
        <Link href={token.href}>
          <Inline tokens={inside(token.tokens)} depth={depth + 1} />
        </Link>
      );
    case "image":
      return <Picture href={token.href} alt={token.text} />;
    case "math":
      return <Maths tex={token.tex} raw={token.raw} isBlock={false} />;
    case "html":
      return isLineBreak(token.raw) ? <br /> : token.raw;
    default:
      return token.raw;
  }
}
