// Errors of requests.

import type { ErrorBody, ErrorCode } from "./contract";

/** An error of a request, for display and for decisions. */
export interface ErrorInfo {
  /** `offline`: no response. `unreadable`: a response that is not Djinn's. */
  readonly code: ErrorCode | "offline" | "unreadable";
  /** The server's sentence; empty without one. */
  readonly message: string;
  readonly detail: string;
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  readonly isRetryable: boolean;
  /** Seconds to wait. */
  readonly retryAfterS: number | null;
  /** The run that blocks the request. */
  readonly run: string | null;
  readonly requestId: string | null;
}

/** The exception of failed requests; `body` is the parsed JSON of the response, if any. */
export class RequestError extends Error {
  readonly info: ErrorInfo;
  readonly body: unknown;

  constructor(info: ErrorInfo, body: unknown = null) {
    super(info.message || info.code);
    this.info = info;
    this.body = body;
  }
}

/** The error of a request without a response. */
export function offlineError(detail: string): ErrorInfo {
  return {
    code: "offline",
    message: "",
    detail,
    status: 0,
    isRetryable: true,
    retryAfterS: null,
    run: null,
    requestId: null,
  };
}

/** Returns the error of a response with an error status. */
export async function responseError(response: Response): Promise<RequestError> {
  const requestId = response.headers.get("djinn-request-id");
  const body: unknown = await response.json().catch(() => null);
  if (!isErrorBody(body)) return new RequestError(unreadableError(response.status, requestId));
  const info: ErrorInfo = {
    code: body.code,
    message: body.message,
    detail: body.detail,
    status: response.status,
    isRetryable: body.retryable,
    retryAfterS: body.retry_after ?? null,
    run: body.run ?? null,
    requestId,
  };
  return new RequestError(info, body);
}

/** The error of a response that is not Djinn's. A repeat may help. */
export function unreadableError(status: number, requestId: string | null = null): ErrorInfo {
  return { ...offlineError(""), code: "unreadable", status, requestId };
}

/** Returns the error of any exception of a request. */
export function errorOf(error: unknown): ErrorInfo {
  if (error instanceof RequestError) return error.info;
  return offlineError(error instanceof Error ? error.message : String(error));
}

function isErrorBody(body: unknown): body is ErrorBody {
  return typeof body === "object" && body !== null && "code" in body && "message" in body;
}
