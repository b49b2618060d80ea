"""Shows that each known error of the emulator exists without its correction, and not with it.

    python infra/stack/known_errors.py UNCORRECTED CORRECTED

Both are folders of emulators, see emulator.py. Prints the name of each correction that is obsolete, because the
emulator without it behaves like AWS: remove it from corrections.py. Prints too each correction without effect.
"""

import io
import json
import sys
import zipfile
from pathlib import Path

import boto3
from botocore.exceptions import ClientError
from deploy import REGION, client

TRUST = {"Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}]}


def client_of_role(endpoint, service, name, action, resource):
    """Returns a client with the credentials of a new role that has one permission."""
    iam = client(endpoint, "iam")
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    policy = {"Statement": [{"Effect": "Allow", "Action": action, "Resource": resource}]}
    iam.put_role_policy(RoleName=name, PolicyName="only", PolicyDocument=json.dumps(policy))
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
    resource = f"arn:aws:scheduler:{REGION}:*:schedule/group/*"
    scheduler = client_of_role(endpoint, "scheduler", "schedules", "scheduler:CreateSchedule", resource)
    target = {"Arn": f"arn:aws:lambda:{REGION}:123456789012:function:none",
              "RoleArn": "arn:aws:iam::123456789012:role/schedules"}
    return is_denied(lambda: scheduler.create_schedule(
        Name="one", GroupName="group", ScheduleExpression="rate(1 day)", Target=target,
        FlexibleTimeWindow={"Mode": "OFF"}))


def ref_of_a_secret_is_its_name(endpoint):
    template = {"Resources": {"Secret": {"Type": "AWS::SecretsManager::Secret",
                                         "Properties": {"SecretString": "s"}}},
                "Outputs": {"Ref": {"Value": {"Ref": "Secret"}}}}
    cloudformation = client(endpoint, "cloudformation")
    cloudformation.create_stack(StackName="secret", TemplateBody=json.dumps(template))
    cloudformation.get_waiter("stack_create_complete").wait(StackName="secret", WaiterConfig={"Delay": 1})
    (output,) = cloudformation.describe_stacks(StackName="secret")["Stacks"][0]["Outputs"]
    cloudformation.delete_stack(StackName="secret")
    return not output["OutputValue"].startswith("arn:")


def http_on_loopback_is_insecure(endpoint):
    s3 = client(endpoint, "s3")
    s3.create_bucket(Bucket="secure", CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_object(Bucket="secure", Key="key", Body=b"")
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::secure/*",
            "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    s3.put_bucket_policy(Bucket="secure", Policy=json.dumps({"Version": "2012-10-17", "Statement": [deny]}))
    reader = client_of_role(endpoint, "s3", "reader", "s3:GetObject", "arn:aws:s3:::secure/*")
    return is_denied(lambda: reader.get_object(Bucket="secure", Key="key"))


def exec_wrappers_are_ignored(endpoint):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("index.py", "def handler(event, context): return 'not wrapped'")
        wrapper = zipfile.ZipInfo("wrapper")
        wrapper.external_attr = 0o755 << 16
        archive.writestr(wrapper, "#!/bin/sh\nexit 1\n")
    functions = client(endpoint, "lambda")
    functions.create_function(
        FunctionName="wrapped", Runtime="python3.13", Handler="index.handler", Code={"ZipFile": file.getvalue()},
        Role="arn:aws:iam::123456789012:role/schedules",
        Environment={"Variables": {"AWS_LAMBDA_EXEC_WRAPPER": "/var/task/wrapper"}})
    functions.get_waiter("function_active_v2").wait(FunctionName="wrapped", WaiterConfig={"Delay": 1})
    return functions.invoke(FunctionName="wrapped")["Payload"].read() == b'"not wrapped"'


# Each known error by the function in corrections.py that corrects it.
KNOWN_ERRORS = {
    "name_groups_in_schedule_arns": schedules_are_always_in_the_default_group,
    "return_arns_for_refs_of_secrets": ref_of_a_secret_is_its_name,
    "trust_loopback": http_on_loopback_is_insecure,
    "start_wrapped_runtimes": exec_wrappers_are_ignored,
}


def main(uncorrected, corrected):
    uncorrected, corrected = ((Path(folder) / "endpoint").read_text() for folder in (uncorrected, corrected))
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
