"""Asks a question on stacks of the emulator whose Scheduler, table, bucket or secret denies access, hangs or is down.

    python infra/stack/services.py FOLDER template.yaml PROGRAMS

The arguments are those of breakages.py. Scheduler changes no answer. Without the table, the bucket or the key, the
response is an error, because a question brings a file. No response is open for longer than the maximum in CASES.
Each case also requires a request that met the fault.
"""

import json
import socket
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from breakages import Deployment
from deploy import model_table
from variants import Account, deleted

# By service: the suffix of the SDK's variable for its URL, the text of its grant in the template, the expected statuses,
# the maximum seconds of a response, and the prefix of its actions. The SDK gives up after three attempts of 5 s, and of
# 30 s for an object.
CASES = {
    "Scheduler": ("SCHEDULER", ("              - scheduler:CreateSchedule\n", ""), {200}, 5, "scheduler:"),
    "table": ("DYNAMODB", ("              - dynamodb:PutItem\n", ""), {503}, 40, "dynamodb:"),
    "bucket": ("S3", ("Action: [s3:DeleteObject, s3:GetObject, s3:PutObject]", "Action: [s3:DeleteObject]"),
               {503}, 100, "s3:"),
    "secret": ("SECRETS_MANAGER", ("    Condition: HasAgentSecret\n", "    Condition: HasTopic\n"), {500, 502, 503}, 40,
               "secretsmanager:"),
}

# The question of each case.
QUESTION = {"question": "Hello?", "attachments": [{"name": "hello.txt", "uri": "data:text/plain,Hello."}]}


FAULTS = ("denies access", "hangs", "is down")


class Model(BaseHTTPRequestHandler):
    """A model that always returns the same reply."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
                 "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hello."},
                              "finish_reason": "stop"}]}
        body = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


@contextmanager
def running_model():
    """Yields the port of a running model server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()


def ask(deployment, stack, source, model_port, variables, case):
    """Yields a sentence for each fault of the response to a question."""
    before = deployment.account.resources()
    variables = {"MODEL_KEY": "sk-scripted-0123456789", **variables}
    failure = deployment.create(stack, source, model_table(model_port, "env:MODEL_KEY"), variables)
    if failure:
        yield f"cannot be created: {failure}"
        return
    _, _, statuses, seconds, _ = case
    status, text, took = deployment.post(stack, "/runs", QUESTION, "text/event-stream")
    if status not in statuses:
        yield f"the response is {status}: {text[:300]}"
    if 200 in statuses and '"status":"finished"' not in text:
        yield f"the run does not finish: {text[-300:]}"
    if took > seconds:
        yield f"the response takes {took:.1f} s, not {seconds} s"
    yield from deleted(deployment.account, stack, before)


def count_connections(listener):
    """Returns the number of connections to a listener since the last call."""
    count = 0
    while True:
        try:
            listener.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


def main(folder, source, programs):
    folder = Path(folder)
    deployment = Deployment(Account((folder / "endpoint").read_text()), folder, Path(programs).resolve())
    text = Path(source).read_text(encoding="utf-8")
    # A listener that accepts nothing, and a port without a listener.
    silent, closed = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
    urls = {name: f"http://127.0.0.1:{listener.getsockname()[1]}"
            for name, listener in (("hangs", silent), ("is down", closed))}
    closed.close()
    silent.setblocking(False)
    faults = []
    with running_model() as port:
        usual = ask(deployment, "service-usual", text, port, {}, CASES["Scheduler"])
        faults += [f"all services work: {fault}" for fault in usual]
        for number, (service, case) in enumerate(CASES.items()):
            suffix, (old, new), _, _, actions = case
            if old not in text:
                faults.append(f"services.py: `{old}` is not in the template any more")
                continue
            for fault in FAULTS:
                broken = text.replace(old, new) if fault == "denies access" else text
                variables = {} if fault == "denies access" else {f"AWS_ENDPOINT_URL_{suffix}": urls[fault]}
                stack = f"service-{number}-{FAULTS.index(fault)}"
                found = ask(deployment, stack, broken, port, variables, case)
                faults += [f"the {service} {fault}: {problem}" for problem in found]
                denials = [denial for denial in deployment.denials(stack) if denial.startswith(actions)]
                if fault == "denies access" and not denials:
                    faults.append(f"the {service} denies access: nothing was denied")
                if fault == "hangs" and not count_connections(silent):
                    faults.append(f"the {service} hangs: no request reached it")
    deployment.close()
    for fault in faults:
        print(fault)
    if faults:
        return 1
    print(f"    {len(CASES)} services that deny access, hang or are down: each response ends")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
