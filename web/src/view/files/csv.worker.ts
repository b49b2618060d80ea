import { parseCsv } from "./csv";

addEventListener("message", ({ data: { text, isPart } }: MessageEvent<{ text: string; isPart: boolean }>) =>
  postMessage(parseCsv(text, isPart)),
);
