import { parseCsv } from "./csv";

addEventListener("message", (event: MessageEvent<string>) => postMessage(parseCsv(event.data)));
