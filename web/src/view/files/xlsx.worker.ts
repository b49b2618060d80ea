import { readWorkbook } from "./xlsx";

addEventListener("message", (event: MessageEvent<Uint8Array<ArrayBuffer>>) => {
  readWorkbook(event.data).then(
    (sheets) => postMessage(sheets),
    () => postMessage(null),
  );
});
