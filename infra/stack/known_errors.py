"""Shows that each known error of the emulator exists without its correction, and not with it.

    python infra/stack/known_errors.py UNCORRECTED CORRECTED

Both are folders of emulators, see emulator.py. Prints the name of each correction that is obsolete, because the
emulator without it behaves like AWS: remove it from corrections.py or service_roles.py. Prints too each correction without effect.
"""

import io
import json
import string
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

import boto3
from botocore.exceptions import ClientError
from deploy import REGION, client

NOBODY = "arn:aws:iam::123456789012:role/nobody"
HANDLER = "def handler(event, context): return 'not wrapped'"
TRUST = {"Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}]}


def create_role(endpoint, name, statements):
    """Creates a role that everyone may assume, with these statements. Returns the ARN."""
    iam = client(endpoint, "iam")
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    policy = {"Statement": [{"Effect": "Allow", **statement} for statement in statements]}
    iam.put_role_policy(RoleName=name, PolicyName="only", PolicyDocument=json.dumps(policy))
    return role


def client_of_role(endpoint, service, name, *statements):
    """Returns a client with the credentials of a new role."""
    role = create_role(endpoint, name, statements)
    session = client(endpoint, "sts").assume_role(RoleArn=role, RoleSessionName="check")["Credentials"]
    return boto3.client(
        service, region_name=REGION, endpoint_url=endpoint, aws_access_key_id=session["AccessKeyId"],
        aws_secret_access_key=session["SecretAccessKey"], aws_session_token=session["SessionToken"])


def is_denied(request):
    try:
        request()
    except ClientError as error:
        if error.response["Error"]["Code"] in ("AccessDenied", "AccessDeniedException"):
            return True
        raise
    return False


def schedules_are_always_in_the_default_group(endpoint):
    client(endpoint, "scheduler").create_schedule_group(Name="group")
    scheduler = client_of_role(
        endpoint, "scheduler", "schedules",
        {"Action": "scheduler:CreateSchedule", "Resource": f"arn:aws:scheduler:{REGION}:*:schedule/group/*"},
        {"Action": "iam:PassRole", "Resource": "*"})
    return is_denied(lambda: create_schedule(scheduler, "group", "none", NOBODY))


def create_schedule(scheduler, group, function, role):
    target = {"Arn": f"arn:aws:lambda:{REGION}:123456789012:function:{function}", "RoleArn": role}
    scheduler.create_schedule(Name="one", GroupName=group, ScheduleExpression="rate(1 day)", Target=target,
                              FlexibleTimeWindow={"Mode": "OFF"})


def schedules_need_no_passed_role(endpoint):
    scheduler = client_of_role(endpoint, "scheduler", "passes",
                               {"Action": "scheduler:CreateSchedule", "Resource": "*"})
    return not is_denied(lambda: create_schedule(scheduler, "default", "none", NOBODY))


def create_function(endpoint, name, role, code, **properties):
    """Creates a function in Python whose archive has a wrapper that fails."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("index.py", code)
        wrapper = zipfile.ZipInfo("wrapper")
        wrapper.external_attr = 0o755 << 16
        archive.writestr(wrapper, "#!/bin/sh\nexit 1\n")
    functions = client(endpoint, "lambda")
    functions.create_function(FunctionName=name, Runtime="python3.13", Handler="index.handler",
                              Code={"ZipFile": file.getvalue()}, Role=role, **properties)
    functions.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig={"Delay": 1})
    return functions


def has_logs(endpoint, function):
    logs = client(endpoint, "logs")
    groups = logs.describe_log_groups(logGroupNamePrefix=f"/aws/lambda/{function}")["logGroups"]
    return any(logs.describe_log_streams(logGroupName=group["logGroupName"])["logStreams"] for group in groups)


def logs_need_no_role(endpoint):
    role = create_role(endpoint, "silent", [{"Action": "s3:GetObject", "Resource": "*"}])
    create_function(endpoint, "silent", role, HANDLER).invoke(FunctionName="silent")
    return has_logs(endpoint, "silent")


def targets_need_no_role(endpoint):
    role = create_role(endpoint, "logs", [{"Action": "logs:*", "Resource": "*"}])
    create_function(endpoint, "target", role, HANDLER)
    client(endpoint, "scheduler").create_schedule_group(Name="targets")
    create_schedule(client(endpoint, "scheduler"), "targets", "target", role)
    urllib.request.urlopen(f"{endpoint}/_stack/alarms", data=b"").read()
    # The invocation is asynchronous, and its logs come last.
    return eventually(lambda: has_logs(endpoint, "target"))


def failed_events_need_no_role(endpoint):
    sqs = client(endpoint, "sqs")
    queue = sqs.create_queue(QueueName="failed")["QueueUrl"]
    role = create_role(endpoint, "fails", [{"Action": "logs:*", "Resource": "*"}])
    functions = create_function(endpoint, "fails", role, "def handler(event, context): raise ValueError")
    functions.put_function_event_invoke_config(
        FunctionName="fails", MaximumRetryAttempts=0, DestinationConfig={
            "OnFailure": {"Destination": f"arn:aws:sqs:{REGION}:123456789012:failed"}})
    functions.invoke(FunctionName="fails", InvocationType="Event")
    return eventually(lambda: "Messages" in sqs.receive_message(QueueUrl=queue))


def eventually(is_true):
    """Waits until the condition is true. Returns false if it is not within three seconds."""
    until = time.monotonic() + 3
    while time.monotonic() < until:
        if is_true():
            return True
        time.sleep(0.1)
    return False


def ref_of_secret(endpoint, stack, properties):
    """Creates a secret in a stack, and returns the value of `Ref`."""
    template = {"Resources": {"Secret": {"Type": "AWS::SecretsManager::Secret", "Properties": properties}},
                "Outputs": {"Ref": {"Value": {"Ref": "Secret"}}}}
    cloudformation = client(endpoint, "cloudformation")
    cloudformation.create_stack(StackName=stack, TemplateBody=json.dumps(template))
    cloudformation.get_waiter("stack_create_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
    (output,) = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["Outputs"]
    return output["OutputValue"]


def ref_of_a_secret_is_its_name(endpoint):
    return not ref_of_secret(endpoint, "ref", {"SecretString": "s"}).startswith("arn:")


def generated_secrets_have_punctuation(endpoint):
    # Without punctuation by chance once in 10^60.
    generated = {"GenerateSecretString": {"PasswordLength": 512, "ExcludePunctuation": True}}
    secret = ref_of_secret(endpoint, "punctuation", generated)
    value = client(endpoint, "secretsmanager").get_secret_value(SecretId=secret)["SecretString"]
    return any(character in string.punctuation for character in value)


def http_on_loopback_is_insecure(endpoint):
    s3 = client(endpoint, "s3")
    s3.create_bucket(Bucket="secure", CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_object(Bucket="secure", Key="key", Body=b"")
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::secure/*",
            "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    s3.put_bucket_policy(Bucket="secure", Policy=json.dumps({"Version": "2012-10-17", "Statement": [deny]}))
    reader = client_of_role(endpoint, "s3", "reader", {"Action": "s3:GetObject", "Resource": "arn:aws:s3:::secure/*"})
    return is_denied(lambda: reader.get_object(Bucket="secure", Key="key"))


def missing_objects_need_no_listing(endpoint):
    location = {"LocationConstraint": REGION}
    client(endpoint, "s3").create_bucket(Bucket="missing", CreateBucketConfiguration=location)
    reader = client_of_role(endpoint, "s3", "misses", {"Action": "s3:GetObject", "Resource": "arn:aws:s3:::missing/*"})
    try:
        return not is_denied(lambda: reader.get_object(Bucket="missing", Key="key"))
    except reader.exceptions.NoSuchKey:
        return True


def exec_wrappers_are_ignored(endpoint):
    variables = {"Variables": {"AWS_LAMBDA_EXEC_WRAPPER": "/var/task/wrapper"}}
    functions = create_function(endpoint, "wrapped", NOBODY, HANDLER, Environment=variables)
    return functions.invoke(FunctionName="wrapped")["Payload"].read() == b'"not wrapped"'


# Each known error by the function that corrects it, in corrections.py or service_roles.py.
KNOWN_ERRORS = {
    "hide_missing_objects": missing_objects_need_no_listing,
    "name_groups_in_schedule_arns": schedules_are_always_in_the_default_group,
    "return_arns_for_refs_of_secrets": ref_of_a_secret_is_its_name,
    "leave_punctuation_out_of_secrets": generated_secrets_have_punctuation,
    "trust_loopback": http_on_loopback_is_insecure,
    "start_wrapped_runtimes": exec_wrappers_are_ignored,
    "check_passed_roles": schedules_need_no_passed_role,
    "invoke_targets_with_roles": targets_need_no_role,
    "write_logs_with_roles": logs_need_no_role,
    "send_failed_events_with_roles": failed_events_need_no_role,
}


def main(uncorrected, corrected):
    uncorrected, corrected = ((Path(folder) / "endpoint").read_text() for folder in (uncorrected, corrected))
    for endpoint in (uncorrected, corrected):
        create_role(endpoint, "nobody", [{"Action": "s3:GetObject", "Resource": "*"}])
    faults = []
    for correction, exists in KNOWN_ERRORS.items():
        if not exists(uncorrected):
            faults.append(f"the correction {correction} is obsolete: remove it and its check")
        if exists(corrected):
            faults.append(f"the correction {correction} has no effect")
    for fault in faults:
        print(fault)
    if not faults:
        print(f"    {len(KNOWN_ERRORS)} known errors of the emulator exist, and are corrected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
