// The values of one user on this device: users of the same browser do not see each other's.

import type { Browser, Shelf } from "./browser";

const USER = "user";

export class UserShelf implements Shelf {
  readonly #browser: Browser;
  #user: string;

  constructor(browser: Browser) {
    this.#browser = browser;
    this.#user = browser.tab.read(USER) ?? browser.device.read(USER) ?? "";
  }

  /** The last known user; empty if none is known. */
  get user(): string {
    return this.#user;
  }

  /** From now on, the values are this user's. `isForDevice`: new tabs begin with this user, too. */
  use(user: string, isForDevice: boolean): void {
    this.#user = user;
    const value = user === "" ? null : user;
    this.#browser.tab.write(USER, value);
    if (isForDevice || value === null) this.#browser.device.write(USER, value);
  }

  read(name: string): string | null {
    return this.#browser.device.read(this.#nameOf(name));
  }

  write(name: string, value: string | null): void {
    this.#browser.device.write(this.#nameOf(name), value);
  }

  forget(prefix: string): void {
    this.#browser.device.forget(this.#nameOf(prefix));
  }

  #nameOf(name: string): string {
    return `of/${encodeURIComponent(this.#user)}/${name}`;
  }
}
