// Uploads with progress. `fetch` reports no progress of a request, so this is an XMLHttpRequest.

import type { NewFileBody, SessionFile } from "./contract";
import { offlineError, RequestError, responseError } from "./error";
import type { Routes } from "./routes";

/** The largest file that the agent itself accepts, in bytes. */
const DIRECT_LIMIT = 3_900_000;

/** Uploads a file to a session. `onProgress` receives the sent share, 0 to 1. Returns the stored file. */
export async function uploadFile(
  routes: Routes,
  session: string,
  file: File,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<SessionFile> {
  if (file.size <= DIRECT_LIMIT) {
    const form = new FormData();
    form.append("file", file, file.name);
    const path = `/sessions/${encodeURIComponent(session)}/files`;
    const { server } = routes;
    const { authorization, key } = server;
    const onFailure = (response: Response): void => server.report(response, key);
    const text = await transfer("POST", path, authorization, form, onProgress, signal, onFailure);
    return (JSON.parse(text) as NewFileBody).file;
  }
  const announced = await routes.announceFile(session, file.name, file.size);
  const upload = announced.upload;
  // Only the URL of the response receives the bytes; the key stays with the agent.
  if (upload) await transfer(upload.method, upload.url, upload.headers, file, onProgress, signal);
  return announced.file;
}

function transfer(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: FormData | File,
  onProgress: (share: number) => void,
  signal: AbortSignal,
  onFailure: (response: Response) => void = () => undefined,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (detail: string) => reject(new RequestError(offlineError(detail)));
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) {
      // A browser sets these two itself, and complains about both.
      if (!["content-length", "host"].includes(name.toLowerCase())) request.setRequestHeader(name, value);
    }
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onerror = () => fail("");
    request.onabort = () => fail("aborted");
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) return resolve(request.responseText);
      const response = new Response(request.responseText || null, { status: request.status });
      onFailure(response.clone());
      responseError(response).then(reject, reject);
    };
    signal.addEventListener("abort", () => request.abort());
    if (signal.aborted) return fail("aborted");
    request.send(body);
  });
}
