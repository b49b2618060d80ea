/** The tags of an XML text. Comments and declarations are skipped, and no entity but XML's own five is known. */

export interface XmlTag {
  /** The name without its prefix. */
  readonly name: string;
  readonly attributes: string;
  readonly isEnd: boolean;
  /** True for `<name/>`. */
  readonly isEmpty: boolean;
  /** The text up to the next tag, with entities. */
  readonly text: string;
}

const TAG = /<(\/?)(?:[\w.-]+:)?([\w.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>([^<]*)/g;
const ATTRIBUTE = /(?:[\w.-]+:)?([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

export function* tagsOf(xml: string): Generator<XmlTag> {
  for (const [, end, name = "", attributes = "", empty, text = ""] of xml.matchAll(TAG)) {
    yield { name, attributes, isEnd: end === "/", isEmpty: empty === "/", text };
  }
}

/** Returns attributes by name without prefix. */
export function attributesOf(attributes: string): Readonly<Partial<Record<string, string>>> {
  const found = new Map<string, string>();
  for (const [, name = "", double, single] of attributes.matchAll(ATTRIBUTE)) found.set(name, textOf(double ?? single ?? ""));
  return Object.fromEntries(found);
}

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Replaces the entities of a text. */
export function textOf(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi, (whole, decimal, hex, name) => {
    if (name) return NAMED[String(name)] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
  });
}
