"""Deploys template.yaml to the emulator with `sam deploy`, as docs/deploy.md describes, for the stories.

    python infra/stack/deploy.py FOLDER PROGRAMS KEY HOLDER

`FOLDER` is the emulator's, see emulator.py. `PROGRAMS` contains the functions as built for this machine. `KEY` is an
API key, `HOLDER` its item for `DJINN_API_KEYS`. `FOLDER/stack.json` receives the endpoint, the outputs of the stack,
the names of its resources, the key, and the ports at which the stories start a model server and a web site.

Each archive contains a start script for a built program instead of the program, so no copies are needed.
"""

import hashlib
import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import boto3
from samcli.yamlhelper import yaml_dump, yaml_parse

ROOT = Path(__file__).resolve().parents[2]
REGION = "eu-west-1"
STACK = "djinn"

SECRETS = {"djinn/run/openai": "sk-scripted-0123456789", "djinn/tools/tavily": "tvly-0123456789"}

# The parameters in docs/deploy.md, and all parts.
PARAMETERS = {
    "Auth": "key",
    "AuthType": "NONE",
    "ApiKeys": "secret:djinn/agent/keys",
    "AgentSecretName": "djinn/agent/*",
    "SecretName": "djinn/run/*",
    "WithWeb": "true",
    "WithSandbox": "true",
    "WithRestApi": "true",
    "WithPage": "true",
}

# The djinn.toml of the stack. Only a plan's step that publishes waits for people.
SETTINGS = """
[agents]
offered = "all"

[people.requests]
confirm_steps = ["publish"]
timeout = 3600
"""

# The page of the stack. The stories use its address only; the page's own stories are in web/stories.
INDEX = "<!doctype html><title>Djinn</title>\n"

# The program of each function, and the file that Lambda starts.
FUNCTIONS = {
    "Agent": ("agent", "bootstrap"),
    "Executor": ("executor", "bootstrap"),
    "Fetch": ("gateway", "bootstrap"),
    "Call": ("gateway", "bootstrap"),
    "Sandbox": ("sandbox", "sandbox"),
    "SandboxDocuments": ("sandbox", "sandbox"),
}


def environment(endpoint):
    """Returns the variables for the AWS tools: the emulator's URL, and the credentials of its root user."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


def build(folder, programs, variables):
    """Writes the template and the archives as `sam build` does, and returns the path of the template. `variables`
    are additional environment variables by function."""
    template = yaml_parse((ROOT / "template.yaml").read_text(encoding="utf-8"))
    template["Globals"]["Function"].pop("CodeUri")
    for name, (program, start) in FUNCTIONS.items():
        archive = folder / name
        archive.mkdir(parents=True, exist_ok=True)
        # `exec` keeps the process id, so a story can kill the function.
        script = archive / start
        exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in variables.get(name, {}).items())
        script.write_text(f'#!/bin/sh\n{exports}exec "{programs / program}" "$@"\n')
        script.chmod(0o755)
        resource = template["Resources"][name]
        resource["Properties"]["CodeUri" if resource["Type"] == "AWS::Serverless::Function" else "Code"] = name
        resource.pop("Metadata", None)
    page = folder / "Page" / "page"
    page.mkdir(parents=True, exist_ok=True)
    (page / "index.html").write_text(INDEX)
    resource = template["Resources"]["Page"]
    resource["Properties"]["Content"] = "Page"
    resource.pop("Metadata", None)
    path = folder / "template.yaml"
    path.write_text(yaml_dump(template))
    return path


def deploy(endpoint, template, name, parameters):
    """Runs `sam deploy` to the end."""
    command = ["sam", "deploy", "--template-file", str(template), "--stack-name", name, "--resolve-s3",
               "--region", REGION, "--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset",
               "--no-fail-on-empty-changeset", "--no-progressbar"]
    if parameters:
        command += ["--parameter-overrides",
                    *(f"{key}={json.dumps(value)}" for key, value in parameters.items())]
    # The folder of the archives has no samconfig.toml.
    # Nothing of the developer's own AWS configuration may count.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(command, cwd=template.parent, env={**inherited, **environment(endpoint)},
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"`sam deploy` failed:\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}")


def client(endpoint, service):
    return boto3.client(service, region_name=REGION, endpoint_url=endpoint, aws_access_key_id="test",
                        aws_secret_access_key="test")


def describe(endpoint, name):
    """Returns the outputs of a stack, and the physical id of each resource by logical id."""
    cloudformation = client(endpoint, "cloudformation")
    (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    resources = cloudformation.describe_stack_resources(StackName=name)["StackResources"]
    return {
        "outputs": {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])},
        "resources": {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in resources},
    }


def model_table(port, key):
    """Returns the lines of a djinn.toml with a model at a port of this machine."""
    return (f'[models.main]\nprovider = "openai"\nmodel = "scripted"\nkey = "{key}"\n'
            f'base_url = "http://127.0.0.1:{port}/v1/"\n')


def engine_table(port):
    """Returns the lines of a djinn.toml with a search engine at a port of this machine."""
    return (f'[[search.engines]]\nengine = "tavily"\nkey = "secret:djinn/tools/tavily"\n'
            f'url = "http://127.0.0.1:{port}/engine"\n')


def publish(storage, bucket, files):
    """Writes a configuration folder with these files by name to a bucket, as `cargo xtask publish` does."""
    listed = [{"name": name, "sha256": hashlib.sha256(text.encode()).hexdigest()} for name, text in files.items()]
    for name, text in {**files, "manifest.json": json.dumps({"files": listed})}.items():
        storage.put_object(Bucket=bucket, Key=f"config/{name}", Body=text)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main(folder, programs, key, holder):
    folder, programs = Path(folder).resolve(), Path(programs).resolve()
    endpoint = (folder / "endpoint").read_text()
    model, site = free_port(), free_port()
    secrets = client(endpoint, "secretsmanager")
    for name, value in {**SECRETS, "djinn/agent/keys": f"[{holder}]"}.items():
        secrets.create_secret(Name=name, SecretString=value)
    # Stand-ins for the web are on loopback, which the gateway reads only on a laptop.
    stand_ins = {"DJINN_LOCAL": "1", "DJINN_EGRESS_ORIGINS": f"http://127.0.0.1:{site}"}
    # The emulator unpacks no layers for programs.
    layer = {"DJINN_PAGE": str(folder / "build" / "Page" / "page")}
    template = build(folder / "build", programs, {"Agent": layer, "Fetch": stand_ins, "Call": stand_ins})
    deploy(endpoint, template, STACK, PARAMETERS)
    stack = describe(endpoint, STACK)
    settings = SETTINGS + engine_table(site) + model_table(model, "secret:djinn/run/openai")
    publish(client(endpoint, "s3"), stack["outputs"]["BucketName"], {"djinn.toml": settings})
    stack.update(endpoint=endpoint, key=key, model_port=model, site_port=site)
    (folder / "stack.json").write_text(json.dumps(stack, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
