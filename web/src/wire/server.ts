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

/** The agent. Adds the key or token to each request. */
export class Server {
  readonly #fetch: Fetch;
  readonly #onResponse: (response: Response, key: string | null) => void;
  #key: string | null = null;

  /** `onResponse` sees each response, and the key of its request. */
  constructor(fetch: Fetch, onResponse: (response: Response, key: string | null) => void = () => undefined) {
    this.#fetch = fetch;
    this.#onResponse = onResponse;
  }

  /** Reports a response to a request that was sent past this class, with its key. */
  report(response: Response, key: string | null): void {
    this.#onResponse(response, key);
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

  /** Sends a request. Throws {@link RequestError} without a response, and for an error status. */
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
    this.#onResponse(response, key);
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
