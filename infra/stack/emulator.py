"""Starts the emulator of AWS that `cargo verify --only stack` deploys to, and records the decisions of IAM.

    python infra/stack/emulator.py FOLDER [--uncorrected]

The emulator listens on a free port of loopback, verifies signatures and enforces policies. It ends when the
standard input ends. `FOLDER` receives:

- `endpoint`: the URL, once the emulator accepts requests
- `decisions.jsonl`: each decision about a request of a role, with the policy and the statement that decided, and each
  request that failed for its credentials
- `processes.jsonl`: each started environment of a function, with the process id
- `logs/FUNCTION.log`: the output of each function
- `emulator.log`: the output of the emulator

With `--uncorrected`, the known errors stay; see corrections.py and service_roles.py.
"""

import asyncio
import json
import os
import shutil
import socket
import sys
import threading
from pathlib import Path

REGION = "eu-west-1"
ACCOUNT = "123456789012"

# Variables of this process that the emulator and the functions inherit.
INHERITED = ("HOME", "LANG", "PATH", "STACK_PYTHON")


def set_environment(folder, port):
    """Replaces the environment. The emulator passes its own to functions, and reads it while it is imported."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    os.environ.clear()
    os.environ.update(
        inherited,
        AUTH="true",
        BIND_HOST="127.0.0.1",
        # These two listen on all addresses, whatever the host above.
        IOT_MTLS_ENABLED="0",
        SFTP_ENABLED="0",
        GATEWAY_PORT=str(port),
        MINISTACK_ACCOUNT_ID=ACCOUNT,
        MINISTACK_REGION=REGION,
        MINISTACK_HOST="localhost",
        AWS_DEFAULT_REGION=REGION,
        AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}",
        AWS_EC2_METADATA_DISABLED="true",
        TMPDIR=str(folder / "tmp"),
        LOG_LEVEL="INFO",
    )


class Recorder:
    """Appends lines of JSON to a file."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.file = path.open("a", encoding="utf-8", buffering=1)

    def record(self, **fields):
        with self.lock:
            self.file.write(json.dumps(fields) + "\n")


def record_decisions(recorder):
    """Records the decision about each request of a role, with the policy and the statement that decided."""
    from ministack.core import iam_evaluator
    from ministack.services import iam

    matched = threading.local()
    evaluate, enforce = iam_evaluator.evaluate, iam_evaluator.enforce

    def gather_role_policies(role_name, account_id):
        role = iam._roles.get_scoped(account_id, None, role_name) or {}
        policies = []
        for policy, document in (role.get("InlinePolicies") or {}).items():
            statements = iam_evaluator.parse_policy_document(document)
            for number, statement in enumerate(statements):
                statement.source = f"{policy}/{statement.sid or number}"
            policies.append(statements)
        return policies

    def evaluate_and_note(context, policies, *limits):
        result = evaluate(context, policies, *limits)
        # The first evaluation of a request is of the role's own policies, later ones are of the resource's.
        if getattr(matched, "decision", None) is not None:
            return result
        statements = [statement for policy in policies for statement in policy]
        effect = "Allow" if result.decision == "Allow" else "Deny"
        deciding = iam_evaluator._first_match(context, statements, effect)
        if context.principal_type == "AssumedRole":
            matched.decision = (context, deciding.source if deciding else None)
        return result

    def enforce_and_record(access_key_id, iam_action, service, region, resource_arn="*", service_context=None):
        matched.decision = None
        denial = enforce(access_key_id, iam_action, service, region, resource_arn, service_context)
        if matched.decision is not None:
            context, statement = matched.decision
            recorder.record(
                role=iam_evaluator._role_name_from_assumed_arn(context.principal_arn),
                action=iam_action,
                resource=resource_arn,
                allowed=denial is None,
                statement=statement or ("the resource's policy" if denial is None else None),
            )
        elif isinstance(denial, iam_evaluator.AuthError):
            recorder.record(
                role=None, action=iam_action, resource=resource_arn, allowed=False, statement=denial.code
            )
        return denial

    def decide_and_record(context, policies):
        """Decides about a request of a service with a role; see service_roles.py."""
        matched.decision = None
        is_allowed = evaluate_and_note(context, policies).decision == "Allow"
        recorder.record(
            role=iam_evaluator._role_name_from_assumed_arn(context.principal_arn),
            action=context.action,
            resource=context.resource_arn,
            allowed=is_allowed,
            statement=matched.decision[1],
        )
        return is_allowed

    iam_evaluator.decide = decide_and_record
    iam_evaluator._gather_role_policies = gather_role_policies
    iam_evaluator.evaluate = evaluate_and_note
    iam_evaluator.enforce = enforce_and_record


def record_processes(recorder, logs):
    """Records each started environment, and writes the output of functions to files."""
    from ministack.core import lambda_runtime

    spawn, pump = lambda_runtime.ProvidedWorker._spawn, lambda_runtime.ProvidedWorker._pump_output

    class Tee:
        """Lines of a stream, which are also written to a file."""

        def __init__(self, stream, path):
            self.stream, self.path = stream, path

        def readline(self):
            line = self.stream.readline()
            with self.path.open("ab") as file:
                file.write(line)
            return line

        def close(self):
            self.stream.close()

    def spawn_and_record(worker, init_timeout=None):
        spawn(worker, init_timeout)
        recorder.record(function=worker.func_name, process=worker._proc.pid)

    def pump_output(worker, stream, log_queue):
        pump(worker, Tee(stream, logs / f"{worker.func_name}.log"), log_queue)

    lambda_runtime.ProvidedWorker._spawn = spawn_and_record
    lambda_runtime.ProvidedWorker._pump_output = pump_output


def ring_alarms(_body):
    """Makes every schedule due, and invokes the targets. Returns the schedules, each as `group/name`."""
    from ministack.services import scheduler

    schedules = list(scheduler._schedules._data)
    for schedule in schedules:
        scheduler._schedule_last_fired[schedule] = 0
    scheduler._tick_schedules()
    return [name for _, _, name in schedules]


def call_service(body):
    """Sends a request to a service as the account's root, and returns the response."""
    import botocore.session

    request = json.loads(body)
    client = botocore.session.get_session().create_client(
        request["service"],
        region_name=REGION,
        endpoint_url=os.environ["AWS_ENDPOINT_URL"],
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    response = client._make_api_call(request["operation"], request["parameters"])
    return {name: value.read().decode() if hasattr(value, "read") else value for name, value in response.items()}


# Requests to the emulator itself, for stories: `POST` with a JSON body if the command needs one.
COMMANDS = {"/_stack/alarms": ring_alarms, "/_stack/call": call_service}


async def read_body(receive):
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


def with_commands(app):
    """Returns the emulator with the commands."""

    async def serve(scope, receive, send):
        command = COMMANDS.get(scope.get("path")) if scope["type"] == "http" else None
        if command is None:
            await app(scope, receive, send)
            return
        try:
            status, response = 200, await asyncio.to_thread(command, await read_body(receive))
        except Exception as error:
            status, response = 400, str(error)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(response, default=str).encode()})

    return serve


def end_with_input():
    """Ends this process and the started functions when the standard input ends."""
    sys.stdin.buffer.read()
    from ministack.core import lambda_runtime

    lambda_runtime.reset()
    os._exit(0)


async def serve(app, listener, folder):
    from hypercorn.asyncio import serve as serve_asgi
    from hypercorn.config import Config

    config = Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.keep_alive_timeout = 75
    config.loglevel = "INFO"
    serving = asyncio.create_task(serve_asgi(app, config))
    host, port = listener.getsockname()
    while not serving.done():
        try:
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /_ministack/health HTTP/1.0\r\n\r\n")
            if (await reader.readline()).startswith(b"HTTP/1"):
                break
        except OSError:
            await asyncio.sleep(0.05)
    # Written aside and moved, so that readers find the whole URL.
    part = folder / "endpoint.part"
    part.write_text(f"http://{host}:{port}")
    part.rename(folder / "endpoint")
    await serving


def main(folder, *options):
    folder = Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("tmp", "logs"):
        (folder / name).mkdir(parents=True)
    listener = socket.create_server(("127.0.0.1", 0))
    output = os.open(folder / "emulator.log", os.O_WRONLY | os.O_CREAT, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    set_environment(folder, listener.getsockname()[1])
    import corrections
    import service_roles
    from ministack import app

    record_decisions(Recorder(folder / "decisions.jsonl"))
    if "--uncorrected" not in options:
        for correct in corrections.CORRECTIONS + service_roles.CORRECTIONS:
            correct()
    record_processes(Recorder(folder / "processes.jsonl"), folder / "logs")
    threading.Thread(target=end_with_input, daemon=True).start()
    asyncio.run(serve(with_commands(app.app), listener, folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
