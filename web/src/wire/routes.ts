// The agent's routes.

import type {
  KeyRequest,
  MessageBody,
  ModeListBody,
  NewFileBody,
  PlanRequest,
  PlanVersionBody,
  ResponseBody,
  ResponseRequest,
  RunBody,
  RunListBody,
  RunRequest,
  RunStatus,
  SessionBody,
  SessionListBody,
  ShareBody,
  ShareRequest,
} from "./contract";
import type { components } from "./generated/openapi";
import type { Server } from "./server";

type Schemas = components["schemas"];
export type ConfigBody = Schemas["PageConfigBody"];

const encode = encodeURIComponent;

function query(parameters: Readonly<Record<string, string | number | null>>): string {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== null);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

/** The routes of the agent, each with the shape of its response. */
export class Routes {
  readonly server: Server;

  constructor(server: Server) {
    this.server = server;
  }

  config(): Promise<ConfigBody> {
    return this.server.json("GET", "/web/config");
  }

  modes(): Promise<ModeListBody> {
    return this.server.json("GET", "/modes");
  }

  sessions(cursor: string | null, limit: number): Promise<SessionListBody> {
    return this.server.json("GET", `/sessions${query({ limit, cursor })}`);
  }

  session(session: string, cursor: string | null, limit: number): Promise<SessionBody> {
    return this.server.json("GET", `/sessions/${encode(session)}${query({ limit, cursor })}`);
  }

  async rename(session: string, title: string): Promise<void> {
    await this.server.send("POST", `/sessions/${encode(session)}/title`, { body: { title } });
  }

  async deleteSession(session: string): Promise<void> {
    await this.server.send("DELETE", `/sessions/${encode(session)}`);
  }

  share(session: string, body: ShareRequest): Promise<ShareBody> {
    return this.server.json("POST", `/sessions/${encode(session)}/share`, { body });
  }

  async endShare(session: string, handle: string): Promise<void> {
    await this.server.send("DELETE", `/sessions/${encode(session)}/share/${encode(handle)}`);
  }

  runs(status: RunStatus | null, limit: number, cursor: string | null = null): Promise<RunListBody> {
    return this.server.json("GET", `/runs${query({ status, limit, cursor })}`);
  }

  run(run: string): Promise<RunBody> {
    return this.server.json("GET", `/runs/${encode(run)}`);
  }

  /** Asks a question, and streams its run. */
  ask(body: RunRequest, cursor: string | null, signal: AbortSignal): Promise<Response> {
    return this.server.send("POST", "/runs", { body, headers: streamHeaders(cursor), signal });
  }

  /** Streams a run. */
  follow(run: string, cursor: string | null, signal: AbortSignal): Promise<Response> {
    return this.server.send("GET", `/runs/${encode(run)}/events`, { headers: streamHeaders(cursor), signal });
  }

  async stop(run: string): Promise<void> {
    await this.server.send("POST", `/runs/${encode(run)}/stop`);
  }

  message(run: string, text: string, id: string): Promise<MessageBody> {
    return this.server.json("POST", `/runs/${encode(run)}/messages`, { body: { text, message_id: id } });
  }

  requests(run: string): Promise<Schemas["HumanRequestListBody"]> {
    return this.server.json("GET", `/runs/${encode(run)}/requests`);
  }

  /** Responds to a request, or to all requests of a group. */
  respond(run: string, request: string, body: ResponseRequest): Promise<ResponseBody> {
    return this.server.json("POST", `/runs/${encode(run)}/requests/${encode(request)}/response`, { body });
  }

  /** Stores a key of the caller for tools. */
  async setKey(name: string, body: KeyRequest): Promise<void> {
    await this.server.send("PUT", `/keys/${encode(name)}`, { body });
  }

  /** Returns null if the change is stored, and the run reads it soon. */
  async changePlan(run: string, body: PlanRequest): Promise<PlanVersionBody | null> {
    const response = await this.server.send("PATCH", `/runs/${encode(run)}/plan`, { body });
    return response.status === 202 ? null : ((await response.json()) as PlanVersionBody);
  }

  async audit(run: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const response = await this.server.send("GET", `/runs/${encode(run)}/audit`);
    const lines = (await response.text()).split("\n").filter((line) => line.trim() !== "");
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Announces a file by its size. The response contains the URL for its bytes. */
  announceFile(session: string, name: string, size: number): Promise<NewFileBody> {
    return this.server.json("POST", `/sessions/${encode(session)}/files`, { body: { name, size } });
  }
}

function streamHeaders(cursor: string | null): Record<string, string> {
  const accept = { accept: "text/event-stream" };
  return cursor === null ? accept : { ...accept, "last-event-id": cursor };
}
