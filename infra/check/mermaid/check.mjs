// Parses pictures with Mermaid's own parser. Standard input is a JSON list of `{place, text}`; each invalid picture is
// reported in a line on standard error, and causes a failure.

import { text } from "node:stream/consumers";

import DOMPurify from "dompurify";
import mermaid from "mermaid";

// The parser cleans texts with DOMPurify, which needs a browser. This script needs no cleaning.
Object.assign(DOMPurify, { addHook() {}, sanitize: (text) => text });

for (const picture of JSON.parse(await text(process.stdin))) {
  try {
    await mermaid.parse(picture.text);
  } catch (error) {
    console.error(`${picture.place}: ${error.message}`);
    process.exitCode = 1;
  }
}
