// Messages on their way: kept until the server has them, so that a reload sends them again with the same id.

import type { Shelf } from "./browser";

export interface KeptMessage {
  readonly id: string;
  readonly text: string;
  /** The run that was at work. */
  readonly run: string;
}

export class KeptMessages {
  readonly #shelf: Shelf;
  readonly #name: string;

  constructor(shelf: Shelf, session: string) {
    this.#shelf = shelf;
    this.#name = `messages:${session}`;
  }

  load(): readonly KeptMessage[] {
    try {
      const value: unknown = JSON.parse(this.#shelf.read(this.#name) ?? "[]");
      return Array.isArray(value) ? (value as readonly KeptMessage[]) : [];
    } catch {
      return [];
    }
  }

  add(message: KeptMessage): void {
    this.#save([...this.load().filter(({ id }) => id !== message.id), message]);
  }

  remove(...ids: readonly string[]): void {
    this.#save(this.load().filter(({ id }) => !ids.includes(id)));
  }

  #save(messages: readonly KeptMessage[]): void {
    this.#shelf.write(this.#name, messages.length === 0 ? null : JSON.stringify(messages));
  }
}
