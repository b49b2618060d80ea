"""Corrections of the emulator's known errors.

known_errors.py has a check for each, which runs against the uncorrected emulator and fails once the emulator behaves
like AWS. Then remove the correction.
"""

import re
import stat
import string
from pathlib import Path

from ministack import app
from ministack.core import iam_actions, iam_evaluator, lambda_runtime
from ministack.core.responses import get_region
from ministack.core.router import extract_access_key_id
from ministack.services import lambda_svc
from ministack.services.cloudformation import provisioners

# The file that replaces the start of a managed runtime. Lambda passes the command of the runtime to the wrapper.
WRAPPED_START = """#!/bin/sh
exec "$LAMBDA_TASK_ROOT/${AWS_LAMBDA_EXEC_WRAPPER#/var/task/}" "$STACK_PYTHON" /var/runtime/bootstrap.py
"""


def name_groups_in_schedule_arns():
    """Makes the resource of a request to Scheduler name the schedule's group, and not always `default`."""
    original = iam_actions.extract_resource_arn

    def extract_resource_arn(service, method, path, headers, body, query_params, region, account_id):
        arn = original(service, method, path, headers, body, query_params, region, account_id)
        if service != "scheduler" or ":schedule/default/" not in arn:
            return arn
        # Reads and deletions have the group in the query, the others in the body.
        group = next(iter(query_params.get("groupName", [])), None)
        group = group or iam_actions._safe_json_field(body, "GroupName") or "default"
        return arn.replace(":schedule/default/", f":schedule/{group}/")

    iam_actions.extract_resource_arn = extract_resource_arn


def return_arns_for_refs_of_secrets():
    """Makes `Ref` of a secret return the secret's ARN, and not the name."""
    handlers = provisioners._RESOURCE_HANDLERS["AWS::SecretsManager::Secret"]
    create, update, delete = handlers["create"], handlers["update"], handlers["delete"]

    def name(arn):
        return re.sub(r"^arn:[^:]*:secretsmanager:[^:]*:[^:]*:secret:(.*)-[^-]{6}$", r"\1", arn)

    def create_secret(logical_id, properties, stack):
        _, attributes = create(logical_id, properties, stack)
        return attributes["Arn"], attributes

    def update_secret(arn, old, new, stack, logical_id=None):
        _, attributes = update(name(arn), old, new, stack, logical_id)
        return attributes["Arn"], attributes

    def delete_secret(arn, properties):
        delete(name(arn), properties)

    handlers.update(create=create_secret, update=update_secret, delete=delete_secret)


def leave_punctuation_out_of_secrets():
    """Makes a generated secret without punctuation if `ExcludePunctuation` is set."""
    original = provisioners._sm_secret_string

    def secret_string(properties):
        generated = properties.get("GenerateSecretString") or {}
        if str(generated.get("ExcludePunctuation")).lower() == "true":
            excluded = generated.get("ExcludeCharacters", "") + string.punctuation
            properties = {**properties, "GenerateSecretString": {**generated, "ExcludeCharacters": excluded}}
        return original(properties)

    provisioners._sm_secret_string = secret_string


def trust_loopback():
    """Makes HTTP on loopback count as a secure transport, like HTTPS on AWS."""
    original = app.pin_request_origin

    def pin_request_origin(source_ip, _secure_transport):
        original(source_ip, True)

    app.pin_request_origin = pin_request_origin


def start_wrapped_runtimes():
    """Starts a function with `AWS_LAMBDA_EXEC_WRAPPER` by its wrapper, with the Python of `STACK_PYTHON`."""
    extract = lambda_svc._provided_runtime_code_dir
    dispatch = lambda_svc._execute_function_dispatch
    choose = lambda_runtime._worker_class_for

    def is_wrapped(config):
        return "AWS_LAMBDA_EXEC_WRAPPER" in config.get("Environment", {}).get("Variables", {})

    def code_dir(code_zip):
        folder = extract(code_zip)
        start = Path(folder) / "bootstrap"
        if not start.exists():
            start.write_text(WRAPPED_START)
            start.chmod(start.stat().st_mode | stat.S_IXUSR)
        return folder

    def execute(func, config, event, request_id, started):
        if is_wrapped(config):
            config = {**config, "Runtime": "provided.al2023"}
            func = {**func, "config": config}
        return dispatch(func, config, event, request_id, started)

    def worker_class(config):
        return lambda_runtime.ProvidedWorker if is_wrapped(config) else choose(config)

    lambda_svc._provided_runtime_code_dir = code_dir
    lambda_svc._execute_function_dispatch = execute
    lambda_runtime._worker_class_for = worker_class


def hide_missing_objects():
    """Makes S3 return 403, and not 404, for a missing object if the caller lacks `s3:ListBucket`."""
    handle = app.SERVICE_HANDLERS["s3"]

    async def handle_request(method, path, headers, body, query_params):
        response = await handle(method, path, headers, body, query_params)
        bucket, _, key = path.lstrip("/").partition("/")
        caller = extract_access_key_id(headers, query_params)
        if response[0] != 404 or method not in ("GET", "HEAD") or not key or not caller:
            return response
        denial = iam_evaluator.enforce(caller, "s3:ListBucket", "s3", get_region(), f"arn:aws:s3:::{bucket}")
        if denial:
            return 403, {"Content-Type": "application/xml"}, b"<Error><Code>AccessDenied</Code></Error>"
        return response

    app.SERVICE_HANDLERS["s3"] = handle_request


CORRECTIONS = (
    hide_missing_objects,
    name_groups_in_schedule_arns,
    return_arns_for_refs_of_secrets,
    leave_punctuation_out_of_secrets,
    trust_loopback,
    start_wrapped_runtimes,
)
