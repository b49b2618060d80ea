// Parses pictures with Mermaid's own parser. Standard input is a JSON list of `{place, text}`; each that is wrong is
// a line on standard error, and any makes it fail.

import { text } from "node:stream/consumers";

import DOMPurify from "dompurify";
import mermaid from "mermaid";

// The parser cleans texts for a page, which DOMPurify does in a browser alone. Here is no page.
Object.assign(DOMPurify, { addHook() {}, sanitize: (text) => text });

for (const picture of JSON.parse(await text(process.stdin))) {
  try {
    await mermaid.parse(picture.text);
  } catch (error) {
    console.error(`${picture.place}: ${error.message}`);
    process.exitCode = 1;
  }
}
