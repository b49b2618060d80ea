"""Breaks the template in ways that only a deployment shows, and deploys each to the emulator.

    python infra/stack/breakages.py FOLDER template.yaml PROGRAMS

`FOLDER` is the emulator's, see emulator.py. `PROGRAMS` contains the functions as built for this machine. Each breakage
replaces a piece of the template's text. Its stack must fail to be created, or fail to start a run, with the expected
message. The unbroken template must do both.
"""

import hashlib
import http.client
import io
import json
import shlex
import sys
import time
import zipfile
from pathlib import Path

from deploy import FUNCTIONS
from variants import ARTIFACTS, Account, created_and_deleted, deleted, template

KEY = "djinn_" + "07" * 32
SECRET = "djinn/agent/breakages"

# The parameters of a stack that answers questions of the key's holder.
PARAMETERS = {"AuthType": "NONE", "Auth": "key", "ApiKeys": f"secret:{SECRET}", "AgentSecretName": "djinn/agent/*"}

def archive(program, start, variables):
    """Returns an archive with a start script for a built program."""
    exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in variables.items())
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        entry = zipfile.ZipInfo(start)
        entry.external_attr = 0o755 << 16
        written.writestr(entry, f'#!/bin/sh\n{exports}exec "{program}" "$@"\n')
    return file.getvalue()


class Deployment:
    """A stack with the built functions, in the emulator's account."""

    def __init__(self, account, folder, programs):
        self.account, self.folder, self.programs = account, folder, programs
        holder = {"sha256": hashlib.sha256(KEY.encode()).hexdigest(), "tenant": "acme", "user": "anna"}
        self.secrets = account.service("secretsmanager")
        self.secrets.create_secret(Name=SECRET, SecretString=json.dumps([holder]))

    def close(self):
        """Deletes the key, so that another script can make it again."""
        self.secrets.delete_secret(SecretId=SECRET, ForceDeleteWithoutRecovery=True)

    def create(self, stack, source, settings="", variables=None):
        """Creates a stack from the text of a template, with the text of a djinn.toml in its functions, and further
        variables for the functions that drive runs. Returns an error of CloudFormation, or None."""
        configuration = (self.folder / "config" / stack).resolve()
        configuration.mkdir(parents=True, exist_ok=True)
        (configuration / "djinn.toml").write_text(settings)
        packaged = template(source)
        for name in ("Agent", "Executor"):
            program, start = FUNCTIONS[name]
            key = f"{stack}-{name}.zip"
            content = archive(self.programs / program, start, variables or {})
            self.account.service("s3").put_object(Bucket=ARTIFACTS, Key=key, Body=content)
            packaged["Resources"][name]["Properties"]["CodeUri"]["Key"] = key
        return self.account.change("create_stack", stack, packaged, {**PARAMETERS, "Config": str(configuration)})

    def post(self, stack, path, body, accept):
        """Sends a request to the function URL. Returns the status, the text and the seconds."""
        host = self.account.outputs(stack)["Url"].removeprefix("https://").rstrip("/")
        address = self.account.endpoint.removeprefix("http://")
        port = address.rsplit(":", 1)[1]
        connection = http.client.HTTPConnection(address, timeout=120)
        headers = {"Host": f"{host}:{port}", "Authorization": f"Bearer {KEY}", "Accept": accept,
                   "Content-Type": "application/json"}
        began = time.monotonic()
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read().decode()
        return response.status, text, time.monotonic() - began

    def denials(self, stack):
        """Returns a sentence for each denied action of the stack's roles."""
        lines = (self.folder / "decisions.jsonl").read_text().splitlines()
        decisions = [json.loads(line) for line in lines]
        return sorted({f"{decision['action']} is denied to {decision['role']}" for decision in decisions
                       if not decision["allowed"] and (decision["role"] or "").startswith(f"{stack}-")})


def run_problems(deployment, stack, source):
    """Returns a sentence for each problem of a template: its stack, and a run of the stack without a client."""
    before = deployment.account.resources()
    failure = deployment.create(stack, source)
    if failure:
        # A stack that failed stays under its name.
        deployment.account.service("cloudformation").delete_stack(StackName=stack)
        return [failure]
    status, text, _ = deployment.post(stack, "/runs", {"question": "Hello?"}, "application/json")
    found = deployment.denials(stack)
    if status != 202:
        found.append(f"the run is not started: {status} {text[:300]}")
    return found + list(deleted(deployment.account, stack, before))


def option_problems(deployment, stack, source):
    """Returns a sentence for each problem of a template: its stack with the REST API alone."""
    return list(created_and_deleted(deployment.account, template(source), ("HasRestApi",), stack))


# By name: the check, the replaced text, the replacement, and a part of the expected message.
BREAKAGES = {
    "a missing grant": (run_problems, "              - dynamodb:PutItem\n", "", "dynamodb:PutItem is denied"),
    "a wrong ARN": (run_problems, "function:${AWS::StackName}-executor\n", "function:${AWS::StackName}-executer\n",
                    "lambda:InvokeFunction is denied"),
    "a circular reference": (run_problems, "    Type: AWS::SQS::Queue\n",
                             "    Type: AWS::SQS::Queue\n    DependsOn: Executor\n", "Circular dependency"),
    "a bad condition": (option_problems, '[!Ref WithRestApi, "true"]', '[!Ref WithRestApi, "yes"]',
                        "RestApi is missing"),
    "a value out of range": (run_problems, "MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 1209601",
                             "between 60 and 1209600"),
}


def main(folder, source, programs):
    folder = Path(folder)
    account = Account((folder / "endpoint").read_text())
    deployment = Deployment(account, folder, Path(programs).resolve())
    text = Path(source).read_text(encoding="utf-8")
    faults = [f"the unbroken template: {problem}" for problem in run_problems(deployment, "whole", text)]
    for number, (name, (check, old, new, expected)) in enumerate(BREAKAGES.items()):
        if old not in text:
            faults.append(f"breakages.py: `{old}` is not in the template any more")
            continue
        found = check(deployment, f"broken{number}", text.replace(old, new))
        if not any(expected in problem for problem in found):
            faults.append(f"{name} is not noticed: {found}")
    deployment.close()
    for fault in faults:
        print(fault)
    if faults:
        return 1
    print(f"    {len(BREAKAGES)} broken templates, each noticed: {', '.join(BREAKAGES)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
