// The uploads of the open draft.

import { errorOf } from "../wire/error";
import type { Routes } from "../wire/routes";
import { uploadFile } from "../wire/upload";
import type { Upload } from "./types";

/** The list of uploads that this class changes. */
export interface UploadList {
  /** Changes the uploads of a session's draft, if it is still the open one. */
  update(session: string, change: (uploads: readonly Upload[]) => readonly Upload[]): void;
}

export class Uploads {
  readonly #routes: Routes;
  readonly #list: UploadList;
  readonly #active = new Map<string, { file: File; session: string; controller: AbortController }>();

  constructor(routes: Routes, list: UploadList) {
    this.#routes = routes;
    this.#list = list;
  }

  add(session: string, id: string, file: File): void {
    const upload: Upload = { id, name: file.name, size: file.size, progress: 0, state: "uploading", error: null };
    this.#list.update(session, (uploads) => [...uploads, upload]);
    this.#start(session, id, file);
  }

  /** Removes an upload; one that is not complete is canceled. */
  remove(session: string, id: string): void {
    this.#active.get(id)?.controller.abort();
    this.#active.delete(id);
    this.#list.update(session, (uploads) => uploads.filter((upload) => upload.id !== id));
  }

  cancelAll(): void {
    for (const { controller } of this.#active.values()) controller.abort();
    this.#active.clear();
  }

  retry(id: string): void {
    const active = this.#active.get(id);
    if (!active) return;
    this.#change(active.session, id, { state: "uploading", progress: 0, error: null });
    this.#start(active.session, id, active.file);
  }

  #start(session: string, id: string, file: File): void {
    const controller = new AbortController();
    this.#active.set(id, { file, session, controller });
    const onProgress = (progress: number): void => {
      if (!controller.signal.aborted) this.#change(session, id, { state: "uploading", progress, error: null });
    };
    uploadFile(this.#routes, session, file, onProgress, controller.signal).then(
      (stored) => {
        if (controller.signal.aborted) return;
        this.#active.delete(id);
        this.#change(session, id, { state: "done", progress: 1, name: stored.name });
      },
      (error: unknown) => {
        if (!controller.signal.aborted) this.#change(session, id, { state: "failed", error: errorOf(error) });
      },
    );
  }

  #change(session: string, id: string, change: Partial<Upload>): void {
    this.#list.update(session, (uploads) =>
      uploads.map((upload) => (upload.id === id ? { ...upload, ...change } : upload)),
    );
  }
}
