// Requests to the agent on the page's own origin.

import type { ErrorInfo } from "./error";
import { offlineError, RequestError, responseError, unreadableError } from "./error";

export interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The network as used here; tests replace it. */
export type Fetch = (address: string, options: RequestInit) => Promise<Response>;

/** Sees each response, and the key of its request. Returns true if the request is to be sent again, with a new key. */
export type OnResponse = (response: Response, key: string | null) => boolean | Promise<boolean>;

/** The agent. Adds the key or token to each request. */
export class Server {
  readonly #fetch: Fetch;
  readonly #onResponse: OnResponse;
  #key: string | null = null;

  constructor(fetch: Fetch, onResponse: OnResponse = () => false) {
    this.#fetch = fetch;
    this.#onResponse = onResponse;
  }

  /** Reports a response to a request that was sent past this class, with its key. */
  report(response: Response, key: string | null): void {
    void this.#onResponse(response, key);
  }

  get key(): string | null {
    return this.#key;
  }

  setKey(key: string | null): void {
    this.#key = key;
  }

  get authorization(): Readonly<Record<string, string>> {
    return this.#key === null ? {} : { authorization: `Bearer ${this.#key}` };
  }

  /**
   * Sends a request, and again with a new key if its key was rejected. Throws {@link RequestError} without a response,
   * and for an error status.
   */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const headers: Record<string, string> = { ...this.authorization, ...options.headers };
    const request: RequestInit = { method, headers, cache: "no-store" };
    if (options.signal) request.signal = options.signal;
    if (options.body instanceof FormData) request.body = options.body;
    else if (options.body !== undefined) {
      headers["content-type"] = "application/json";
      request.body = JSON.stringify(options.body);
    }
    const key = this.#key;
    let response: Response;
    try {
      response = await this.#fetch(path, request);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new RequestError(offlineError(error instanceof Error ? error.message : ""));
    }
    // The key was replaced meanwhile, perhaps by another user's: only requests that change nothing are repeated.
    const isReplaced = response.status === 401 && method === "GET" && this.#key !== null && this.#key !== key;
    if (isReplaced || (await this.#onResponse(response, key))) return this.send(method, path, options);
    if (response.ok) return response;
    throw await responseError(response);
  }

  /** Sends a request. Returns the JSON of the response, whose shape the contract guarantees. */
  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.send(method, path, options);
    try {
      return (await response.json()) as T;
    } catch {
      throw new RequestError(unreadableError(response.status));
    }
  }
}

export type { ErrorInfo };
