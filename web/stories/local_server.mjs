// A server of a story, on a free port of this machine.

import { once } from "node:events";
import { createServer } from "node:http";

/** Subclasses answer requests: `answer(request, response)`. */
export class LocalServer {
  server = createServer((request, response) => this.answer(request, response));

  static async start(...values) {
    const server = new this(...values);
    server.server.listen(0, "127.0.0.1");
    await once(server.server, "listening");
    return server;
  }

  get url() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
