// Signing in at an issuer of tokens by OpenID Connect: the code flow with PKCE. Loaded only where the agent wants tokens.

import type { Issuer } from "../wire/contract";
import type { Browser } from "./browser";
import type { SignInProblem } from "./types";

/** The shelf of the tab keeps an attempt until the issuer leads back, and the tokens. */
const ATTEMPT = "sign_in";
const TOKENS = "tokens";
/** Tokens are renewed so long before they end, or after four fifths of a shorter life. */
const RENEWAL_MS = 60_000;
/** The life of a token that does not tell its own. */
const DEFAULT_LIFE_S = 3_600;
/** Timers wait at most this long. */
const MAX_WAIT = 24 * 3_600_000;
/** The pause before a renewal that found no issuer is tried again. */
const RETRY_MS = 15_000;

interface Attempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Where the page was: the part of the address after `#`. */
  readonly address: string;
}

interface Tokens {
  /** The token for the agent. */
  readonly token: string;
  readonly refresh: string | null;
  readonly nonce: string;
  readonly issuedAtMs: number;
  readonly endsAtMs: number;
  readonly renewAtMs: number;
}

/** What the issuer lists of itself. */
interface Endpoints {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
}

type Json = Readonly<Record<string, unknown>>;

/** The exception of a sign-in that failed. */
export class SignInError extends Error {
  readonly problem: SignInProblem;

  constructor(problem: SignInProblem) {
    super(problem);
    this.problem = problem;
  }
}

/** The tokens of this tab. `onToken` receives each new token for the agent, and null without one. */
export class TokenSession {
  readonly #browser: Browser;
  readonly #issuer: Issuer;
  readonly #onToken: (token: string | null) => void;
  #tokens: Tokens | null;
  #endpoints: Promise<Endpoints> | null = null;
  #renewal: Promise<boolean> | null = null;
  #cancelTimer: () => void = () => undefined;

  constructor(browser: Browser, issuer: Issuer, onToken: (token: string | null) => void) {
    this.#browser = browser;
    this.#issuer = issuer;
    this.#onToken = onToken;
    this.#tokens = parse<Tokens>(browser.tab.read(TOKENS));
  }

  /** The time since the current token was issued, in milliseconds. */
  get ageMs(): number {
    return this.#browser.now() - (this.#tokens?.issuedAtMs ?? 0);
  }

  /** Leaves the page for the issuer's. Throws {@link SignInError}. */
  async begin(): Promise<void> {
    const { newId } = this.#browser;
    // A page without TLS has no digests.
    if (!globalThis.crypto?.subtle) throw new SignInError("insecure");
    const { authorization_endpoint } = await this.#readEndpoints();
    const attempt: Attempt = {
      state: newId(),
      nonce: newId(),
      verifier: newId() + newId(),
      address: this.#browser.address(),
    };
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(attempt.verifier));
    this.#browser.tab.write(ATTEMPT, JSON.stringify(attempt));
    const url = new URL(authorization_endpoint);
    const parameters = {
      response_type: "code",
      client_id: this.#issuer.client_id,
      redirect_uri: this.#browser.place().url,
      scope: this.#issuer.scopes,
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: base64Url(new Uint8Array(digest)),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    this.#browser.leave(url.href);
  }

  /**
   * Completes the sign-in with which the issuer leads back, or takes up the tokens of the tab. Returns true with a
   * usable token. Throws {@link SignInError}.
   */
  async resume(): Promise<boolean> {
    const answer = new URLSearchParams(this.#browser.place().query);
    const attempt = parse<Attempt>(this.#browser.tab.read(ATTEMPT));
    this.#browser.tab.write(ATTEMPT, null);
    if (answer.has("state")) {
      // A code is used once, and must not stay in the address.
      this.#browser.clearQuery(attempt?.address ?? this.#browser.address());
      if (attempt) {
        await this.#complete(answer, attempt);
        return true;
      }
      if (!this.#tokens) throw new SignInError("state");
    }
    const tokens = this.#tokens;
    if (tokens && tokens.endsAtMs > this.#browser.now()) this.#use(tokens);
    else if (!(await this.renew())) this.forget();
    return this.#tokens !== null;
  }

  /** Gets new tokens with the refresh token. Returns false if the user must sign in again. */
  renew(): Promise<boolean> {
    this.#renewal ??= this.#renew().finally(() => (this.#renewal = null));
    return this.#renewal;
  }

  /** Timers stand still while a device sleeps. */
  onVisibility(): void {
    const tokens = this.#tokens;
    if (tokens?.refresh && this.#browser.now() >= tokens.renewAtMs) void this.renew();
  }

  /** Forgets the tokens of the tab. */
  forget(): void {
    this.#cancelTimer();
    this.#tokens = null;
    this.#browser.tab.write(TOKENS, null);
    this.#onToken(null);
  }

  async #complete(answer: URLSearchParams, attempt: Attempt): Promise<void> {
    if (answer.get("state") !== attempt.state) throw new SignInError("state");
    const issuer = answer.get("iss");
    if (issuer !== null && issuer !== this.#issuer.url) throw new SignInError("refused");
    const code = answer.get("code");
    if (code === null) throw new SignInError("denied");
    const body = await this.#requestTokens({
      grant_type: "authorization_code",
      code,
      code_verifier: attempt.verifier,
      redirect_uri: this.#browser.place().url,
    });
    // The issuer's own server has sent the ID token over TLS, so its signature proves nothing more.
    const claims = claimsOf(body.id_token);
    if (claims?.nonce !== attempt.nonce) throw new SignInError("nonce");
    this.#accept(body, claims, attempt.nonce, null);
  }

  async #renew(): Promise<boolean> {
    const tokens = this.#tokens;
    if (!tokens?.refresh) return false;
    try {
      const body = await this.#requestTokens({ grant_type: "refresh_token", refresh_token: tokens.refresh });
      // Signed out meanwhile.
      if (this.#tokens !== tokens) return false;
      const claims = claimsOf(body.id_token);
      if (claims?.nonce !== undefined && claims.nonce !== tokens.nonce) throw new SignInError("nonce");
      this.#accept(body, claims, tokens.nonce, tokens.refresh);
      return true;
    } catch (error) {
      if (this.#tokens !== tokens) return false;
      const isOffline = error instanceof SignInError && error.problem === "unreachable";
      if (isOffline) this.#wait(RETRY_MS);
      else this.#tokens = this.#keep({ ...tokens, refresh: null });
      return false;
    }
  }

  #accept(body: Json, claims: Json | null, nonce: string, refresh: string | null): void {
    const { client_id: client, url, token: kind } = this.#issuer;
    const isOurs = claims === null || (claims.iss === url && [claims.aud].flat().includes(client));
    const token = kind === "id" ? body.id_token : body.access_token;
    if (!isOurs || typeof token !== "string") throw new SignInError("refused");
    // Differences of times are right even where this device's clock is not.
    const stated = kind === "id" ? Number(claims?.exp) - Number(claims?.iat) : Number(body.expires_in);
    const lifeMs = (stated > 0 ? stated : DEFAULT_LIFE_S) * 1_000;
    const now = this.#browser.now();
    const next = typeof body.refresh_token === "string" ? body.refresh_token : refresh;
    const endsAtMs = now + lifeMs;
    const renewAtMs = endsAtMs - Math.min(RENEWAL_MS, lifeMs / 5);
    this.#use(this.#keep({ token, refresh: next, nonce, issuedAtMs: now, endsAtMs, renewAtMs }));
  }

  #keep(tokens: Tokens): Tokens {
    this.#browser.tab.write(TOKENS, JSON.stringify(tokens));
    return tokens;
  }

  #use(tokens: Tokens): void {
    this.#tokens = tokens;
    this.#onToken(tokens.token);
    if (tokens.refresh) this.#wait(tokens.renewAtMs - this.#browser.now());
  }

  #wait(ms: number): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#browser.after(Math.min(Math.max(ms, 0), MAX_WAIT), () => void this.renew());
  }

  #readEndpoints(): Promise<Endpoints> {
    const address = `${this.#issuer.url.replace(/\/$/, "")}/.well-known/openid-configuration`;
    this.#endpoints ??= this.#request(address, {}).then((body) => {
      if (body.issuer !== this.#issuer.url) throw new SignInError("refused");
      if (!isWebAddress(body.authorization_endpoint) || !isWebAddress(body.token_endpoint)) {
        throw new SignInError("refused");
      }
      return { authorization_endpoint: body.authorization_endpoint, token_endpoint: body.token_endpoint };
    });
    this.#endpoints.catch(() => (this.#endpoints = null));
    return this.#endpoints;
  }

  async #requestTokens(parameters: Readonly<Record<string, string>>): Promise<Json> {
    const { token_endpoint } = await this.#readEndpoints();
    const body = new URLSearchParams({ ...parameters, client_id: this.#issuer.client_id });
    return this.#request(token_endpoint, { method: "POST", body });
  }

  /** A request to the issuer, without cookies. */
  async #request(address: string, options: RequestInit): Promise<Json> {
    const response = await this.#browser
      .fetch(address, { ...options, credentials: "omit", cache: "no-store", redirect: "error" })
      .catch(() => null);
    if (!response || response.status >= 500) throw new SignInError("unreachable");
    const body: unknown = await response.json().catch(() => null);
    if (!response.ok || typeof body !== "object" || body === null) throw new SignInError("refused");
    return body as Json;
  }
}

function isWebAddress(address: unknown): address is string {
  return typeof address === "string" && URL.canParse(address) && /^https?:$/.test(new URL(address).protocol);
}

/** The claims of a token; null for anything else. */
function claimsOf(token: unknown): Json | null {
  if (typeof token !== "string") return null;
  try {
    const text = atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"));
    return parse<Json>(new TextDecoder().decode(Uint8Array.from(text, (letter) => letter.charCodeAt(0))));
  } catch {
    return null;
  }
}

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Texts of the shelf are the page's own. */
function parse<T extends object>(text: string | null): T | null {
  try {
    const value: unknown = text === null ? null : JSON.parse(text);
    return typeof value === "object" ? (value as T | null) : null;
  } catch {
    return null;
  }
}
