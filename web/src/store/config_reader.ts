// The deployment's configuration, read at the start and again now and then.

import { errorOf } from "../wire/error";
import type { Routes } from "../wire/routes";
import { configOf } from "./bodies";
import type { Browser } from "./browser";
import type { StateCell } from "./state";

/** The configuration is read again when a tab is shown after this time, in milliseconds. */
const VALIDITY = 5 * 60_000;

export class ConfigReader {
  readonly #browser: Browser;
  readonly #cell: StateCell;
  readonly #routes: Routes;
  readonly #pageVersion: string;
  #readAtMs = 0;

  constructor(browser: Browser, cell: StateCell, routes: Routes, pageVersion: string) {
    this.#browser = browser;
    this.#cell = cell;
    this.#routes = routes;
    this.#pageVersion = pageVersion;
  }

  async read(): Promise<void> {
    try {
      const value = configOf(await this.#routes.config());
      this.#readAtMs = this.#browser.now();
      const isOther = value.version !== "" && this.#pageVersion !== "" && value.version !== this.#pageVersion;
      this.#cell.set({ config: { state: "ready", value }, hasNewVersion: isOther });
    } catch (error) {
      if (errorOf(error).status === 0) this.#cell.set({ isOnline: this.#browser.isOnline() });
      if (this.#cell.get().config.state !== "ready") {
        this.#cell.set({ config: { state: "failed", error: errorOf(error) } });
      }
    }
  }

  /** Reads the configuration again if the tab is shown and the last reading is old. */
  onVisibility(): void {
    if (!this.#browser.isHidden() && this.#browser.now() - this.#readAtMs >= VALIDITY) void this.read();
  }
}
