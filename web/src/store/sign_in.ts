// Signing in: with a key that the user types, or with a token of an issuer.

import type { Issuer } from "../wire/contract";
import { errorOf } from "../wire/error";
import type { Server } from "../wire/server";
import type { Browser } from "./browser";
import type { StateCell } from "./state";
import type { TokenSession } from "./tokens";
import type { SignInProblem } from "./types";

const KEY = "key";
/** A token that is rejected so soon is not accepted at all. */
const FRESH_MS = 30_000;

/** What the store does around a sign-in. */
export interface SignInHost {
  /** Loads what only a known caller may see. */
  enter(): Promise<void>;
  /** Tries again what was rejected. */
  retry(): void;
  /** Shows the address to which a sign-in has led back. */
  onAddress(): void;
}

export class SigningIn {
  readonly #browser: Browser;
  readonly #server: Server;
  readonly #cell: StateCell;
  readonly #host: SignInHost;
  #tokens: TokenSession | null = null;

  constructor(browser: Browser, server: Server, cell: StateCell, host: SignInHost) {
    this.#browser = browser;
    this.#server = server;
    this.#cell = cell;
    this.#host = host;
    server.setKey(browser.tab.read(KEY) ?? browser.device.read(KEY));
  }

  /** New tabs have the key of this one. */
  get isRemembered(): boolean {
    return this.#browser.device.read(KEY) !== null;
  }

  /** Signs in as the deployment wants it, as far as this is possible without the user. */
  async start(): Promise<void> {
    const { config } = this.#cell.get();
    if (config.state !== "ready") return;
    const { kind, issuer } = config.value.signIn;
    if (kind === "jwt" && issuer) return this.#startWithTokens(issuer);
    const hasKey = this.#server.key !== null;
    if (kind === "key" && !hasKey) return this.#cell.set({ signIn: { state: "needs_key", error: null } });
    if ((kind === "iam" || kind === "jwt") && !hasKey) {
      return this.#cell.set({ signIn: { state: "unsupported", kind } });
    }
    await this.#enter();
  }

  async #startWithTokens(issuer: Issuer): Promise<void> {
    try {
      const { TokenSession } = await import("./tokens");
      // A token outlasts a reload under the key's name, so that the first request has it already.
      this.#tokens ??= new TokenSession(this.#browser, issuer, (token) => this.#setKey(token));
      const isSignedIn = await this.#tokens.resume();
      this.#host.onAddress();
      if (isSignedIn) await this.#enter();
      else this.#needToken(null);
    } catch (error) {
      this.#host.onAddress();
      this.#needToken(error);
    }
  }

  async #enter(): Promise<void> {
    this.#cell.set({ signIn: { state: "signed_in" } });
    await this.#host.enter();
    if (this.#cell.get().signIn.state === "signed_in") this.#host.retry();
  }

  /** A request was rejected that had this key. Returns true if there is a new one. */
  async onUnauthorized(response: Response, key: string | null): Promise<boolean> {
    const { config, signIn } = this.#cell.get();
    if (signIn.state !== "signed_in" || config.state !== "ready" || key !== this.#server.key) return false;
    const { kind } = config.value.signIn;
    if (kind === "key") {
      const body: unknown = await response.json().catch(() => null);
      const message = typeof body === "object" && body !== null && "message" in body ? String(body.message) : "";
      const base = errorOf(new Error(""));
      const error = { ...base, code: "credentials_refused" as const, message, status: 401, isRetryable: false };
      this.#cell.set({ signIn: { state: "needs_key", error } });
    } else if (!this.#tokens) {
      this.#cell.set({ signIn: { state: "unsupported", kind: kind === "jwt" ? "jwt" : "iam" } });
    } else if (this.#tokens.ageMs < FRESH_MS) this.#needToken(null, "rejected");
    else if (await this.#tokens.renew()) return true;
    else if (this.#cell.get().signIn.state === "signed_in") this.#needToken(null, "ended");
    return false;
  }

  onVisibility(): void {
    this.#tokens?.onVisibility();
  }

  async withKey(key: string, isRemembered: boolean): Promise<void> {
    this.#browser.device.write(KEY, isRemembered ? key : null);
    this.#setKey(key);
    await this.#enter();
  }

  /** Leaves the page for the issuer's. */
  async atIssuer(): Promise<void> {
    await this.#tokens?.begin().catch((error: unknown) => this.#needToken(error));
  }

  signOut(): void {
    this.#browser.device.write(KEY, null);
    this.#setKey(null);
    this.#tokens?.forget();
    this.#cell.set({ signIn: this.#tokens ? { state: "needs_token", problem: null } : { state: "needs_key", error: null } });
  }

  #setKey(key: string | null): void {
    this.#browser.tab.write(KEY, key);
    this.#server.setKey(key);
  }

  #needToken(error: unknown, problem: SignInProblem | null = null): void {
    const cause = error instanceof Error && "problem" in error ? (error.problem as SignInProblem) : null;
    this.#cell.set({ signIn: { state: "needs_token", problem: cause ?? problem ?? (error ? "unreachable" : null) } });
  }
}
