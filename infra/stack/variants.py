"""Creates, updates and deletes stacks of a template in the emulator: both extremes of the conditions, and each
condition alone.

    python infra/stack/variants.py FOLDER template.yaml

`FOLDER` is the emulator's, see emulator.py. Prints the stacks, and a sentence for each difference from the template:
a missing or needless resource, an output that leads nowhere, a lost table, or a resource that stays after deletion.
"""

import io
import json
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from deploy import FUNCTIONS, ROOT, client
from samcli.yamlhelper import yaml_parse

KEY = "arn:aws:kms:eu-west-1:123456789012:key/11111111-2222-3333-4444-555555555555"
ARTIFACTS = "artifacts"

# Parameters with which every condition is false.
NONE = {"LinkKey": "0123456789abcdef0123456789abcdef"}

# The parameters that make each condition true, besides those in NONE.
CONDITIONS = {
    "IsPublic": {"AuthType": "NONE"},
    "HasOrigins": {"CorsOrigins": "https://chat.example.org,https://www.example.org"},
    "HasApiKeys": {"ApiKeys": "secret:djinn/agent/keys"},
    "HasJwtIssuer": {"JwtIssuer": "https://id.example.org/"},
    "HasJwtAudience": {"JwtAudience": "djinn"},
    "HasJwtJwks": {"JwtJwks": "https://id.example.org/keys"},
    "HasPublicUrl": {"PublicUrl": "https://djinn.example.org"},
    "MakesLinkKey": {"LinkKey": ""},
    "HasLinkUrl": {"LinkUrl": "https://djinn.example.org/live"},
    "HasSecret": {"SecretName": "djinn/run/*"},
    "HasAgentSecret": {"AgentSecretName": "djinn/agent/*"},
    "HasBedrock": {"BedrockModels": "anthropic.*"},
    "HasAgentBound": {"AgentConcurrency": "5"},
    "HasExecutorBound": {"ExecutorConcurrency": "5"},
    "HasRestApi": {"WithRestApi": "true"},
    "HasSandbox": {"WithSandbox": "true"},
    "HasToolBound": {"ToolConcurrency": "5"},
    "HasWeb": {"WithWeb": "true"},
    "HasPage": {"WithPage": "true", "Auth": "key"},
    "HasTopic": {"AlarmTopic": "arn:aws:sns:eu-west-1:123456789012:alarms"},
    "HasKmsKey": {"KmsKeyArn": KEY},
    "HasWebAndKmsKey": {"WithWeb": "true", "KmsKeyArn": KEY},
}

# Conditions that another condition's parameters make true too.
IMPLIED = {"HasWebAndKmsKey": {"HasWeb", "HasKmsKey"}}

# Requests that list the resources of an account: service, operation, member with the list, member with the name.
LISTS = [
    ("apigateway", "get_rest_apis", "items", "id"),
    ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
    ("dynamodb", "list_tables", "TableNames", None),
    ("ec2", "describe_security_groups", "SecurityGroups", "GroupId"),
    ("ec2", "describe_subnets", "Subnets", "SubnetId"),
    ("ec2", "describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
    ("ec2", "describe_vpcs", "Vpcs", "VpcId"),
    ("iam", "list_roles", "Roles", "RoleName"),
    ("lambda", "list_functions", "Functions", "FunctionName"),
    ("lambda", "list_layers", "Layers", "LayerName"),
    ("logs", "describe_log_groups", "logGroups", "logGroupName"),
    ("s3", "list_buckets", "Buckets", "Name"),
    ("scheduler", "list_schedule_groups", "ScheduleGroups", "Name"),
    ("secretsmanager", "list_secrets", "SecretList", "ARN"),
    ("sqs", "list_queues", "QueueUrls", None),
]


def template(source):
    """Returns a SAM template as `sam package` does, with archives in the bucket for artifacts."""
    packaged = yaml_parse(source)
    packaged["Globals"]["Function"].pop("CodeUri")
    for name in FUNCTIONS:
        resource = packaged["Resources"][name]
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = {"Bucket": ARTIFACTS, "Key": "function.zip"}
        else:
            resource["Properties"]["Code"] = {"S3Bucket": ARTIFACTS, "S3Key": "function.zip"}
    packaged["Resources"]["Page"]["Properties"]["Content"] = {"S3Bucket": ARTIFACTS, "S3Key": "function.zip"}
    return packaged


def empty_archive():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("bootstrap", "")
    return file.getvalue()


class Account:
    """The emulator's account."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.clients = {}
        buckets = self.service("s3")
        try:
            buckets.create_bucket(Bucket=ARTIFACTS, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        except buckets.exceptions.BucketAlreadyOwnedByYou:
            pass  # Another script used the emulator before.
        self.service("s3").put_object(Bucket=ARTIFACTS, Key="function.zip", Body=empty_archive())

    def service(self, name):
        if name not in self.clients:
            self.clients[name] = client(self.endpoint, name)
        return self.clients[name]

    def resources(self):
        """Returns the names of all resources of the account."""
        found = set()
        for service, operation, member, name in LISTS:
            # Another operation would need pages; this account has few resources.
            items = getattr(self.service(service), operation)().get(member, [])
            found |= {f"{service} {item[name] if name else item}" for item in items}
        return found

    def change(self, operation, stack, packaged, parameters):
        """Creates or updates a stack to the end. Returns an error of CloudFormation, or None."""
        cloudformation = self.service("cloudformation")
        self.service("s3").put_object(Bucket=ARTIFACTS, Key="template.json", Body=json.dumps(packaged))
        try:
            getattr(cloudformation, operation)(
                StackName=stack,
                TemplateURL=f"{self.endpoint}/{ARTIFACTS}/template.json",
                Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
                Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
            )
        except cloudformation.exceptions.ClientError as error:
            return str(error)
        status = self.wait(stack)
        if status in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            return None
        events = cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
        reasons = [f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason')}" for event in events
                   if event["ResourceStatus"].endswith("FAILED")]
        return f"{status}: {'; '.join(reasons)}"

    def delete(self, stack):
        """Deletes a stack to the end. Returns the last status."""
        cloudformation = self.service("cloudformation")
        # After deletion, only the id finds the stack.
        name = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackId"]
        cloudformation.delete_stack(StackName=stack)
        return self.wait(name)

    def wait(self, stack):
        while True:
            status = self.describe(stack)["StackStatus"]
            if not status.endswith("_IN_PROGRESS"):
                return status
            time.sleep(0.05)

    def describe(self, stack):
        (description,) = self.service("cloudformation").describe_stacks(StackName=stack)["Stacks"]
        return description

    def outputs(self, stack):
        return {output["OutputKey"]: output["OutputValue"] for output in self.describe(stack)["Outputs"]}

    def ids(self, stack):
        """Returns the physical id of each resource of a stack by logical id."""
        resources = self.service("cloudformation").describe_stack_resources(StackName=stack)["StackResources"]
        return {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in resources}


def parameters_for(conditions):
    """Returns the parameters that make only these conditions true."""
    parameters = dict(NONE)
    for condition in conditions:
        parameters.update(CONDITIONS[condition])
    return parameters


def true_conditions(conditions):
    """Returns the conditions that are true if those in `conditions` were made true."""
    known = set(conditions)
    for condition in conditions:
        known |= IMPLIED.get(condition, set())
    return known | {name for name, needed in IMPLIED.items() if needed <= known}


def differences(account, stack, packaged, conditions):
    """Yields a sentence for each resource and output that differs from the template."""
    true = true_conditions(conditions)

    def expected(section):
        return {name for name, item in packaged[section].items()
                if "Condition" not in item or item["Condition"] in true}

    # SAM adds resources such as the function URL.
    present = set(account.ids(stack)) & set(packaged["Resources"])
    for name in sorted(expected("Resources") ^ present):
        yield f"{name} is {'needless' if name in present else 'missing'}"
    outputs = account.outputs(stack)
    for name in sorted(expected("Outputs") ^ set(outputs)):
        yield f"the output {name} is {'needless' if name in outputs else 'missing'}"
    yield from wrong_outputs(account, stack, outputs)


def wrong_outputs(account, stack, outputs):
    """Yields a sentence for each output that does not name the resource."""
    functions = account.service("lambda")
    ids = account.ids(stack)
    url = functions.get_function_url_config(FunctionName=f"{stack}-agent")["FunctionUrl"]
    expected = {
        "Url": url,
        "TableName": account.service("dynamodb").describe_table(TableName=ids["Table"])["Table"]["TableName"],
        "BucketName": ids["Bucket"],
        "ExecutorArn": functions.get_function(FunctionName=f"{stack}-executor")["Configuration"]["FunctionArn"],
    }
    if "RestApi" in ids:
        stages = account.service("apigateway").get_stages(restApiId=ids["RestApi"])["item"]
        names = [stage["stageName"] for stage in stages]
        if names != ["live"]:
            yield f"the REST API has the stages {names}, not live"
        expected["RestUrl"] = f"https://{ids['RestApi']}.execute-api.eu-west-1.amazonaws.com/live/"
    for name, value in expected.items():
        if outputs.get(name) != value:
            yield f"the output {name} is {outputs.get(name)}, not {value}"


def created_and_deleted(account, packaged, conditions, stack):
    """Yields a sentence for each fault of a stack that is created with these conditions and deleted."""
    before = account.resources()
    failure = account.change("create_stack", stack, packaged, parameters_for(conditions))
    if failure:
        yield f"cannot be created: {failure}"
        return
    yield from differences(account, stack, packaged, conditions)
    yield from deleted(account, stack, before)


def deleted(account, stack, before):
    """Yields a sentence for each fault of a deletion. Only the table and the bucket must stay."""
    ids = account.ids(stack)
    status = account.delete(stack)
    if status != "DELETE_COMPLETE":
        yield f"cannot be deleted: {status}"
    expected = {f"dynamodb {ids['Table']}", f"s3 {ids['Bucket']}"}
    left = account.resources() - before
    for name in sorted(left ^ expected):
        yield f"{name} {'stays after' if name in left else 'is lost by'} the deletion"
    if f"dynamodb {ids['Table']}" in left:
        account.service("dynamodb").delete_table(TableName=ids["Table"])
    if f"s3 {ids['Bucket']}" in left:
        storage = account.service("s3")
    for stored in storage.list_objects_v2(Bucket=ids["Bucket"]).get("Contents", []):
        storage.delete_object(Bucket=ids["Bucket"], Key=stored["Key"])
    storage.delete_bucket(Bucket=ids["Bucket"])


def updated(account, packaged, released, stack):
    """Yields a sentence for each fault of a stack that is updated from one extreme to the other and back, and from
    the last release's template and back. The table and the bucket must stay the same."""
    before = account.resources()
    steps = [(packaged, ()), (packaged, CONDITIONS), (packaged, ())]
    if released:
        steps += [(released, ()), (packaged, ()), (released, ()), (packaged, ())]
    failure = account.change("create_stack", stack, steps[0][0], parameters_for(steps[0][1]))
    if failure:
        yield f"cannot be created: {failure}"
        return
    kept = {name: account.ids(stack)[name] for name in ("Table", "Bucket", "Schedules", "Undelivered")}
    for number, (wanted, conditions) in enumerate(steps[1:], start=1):
        failure = account.change("update_stack", stack, wanted, parameters_for(conditions))
        if failure:
            yield f"update {number} fails: {failure}"
            return
        ids = account.ids(stack)
        for name, known in kept.items():
            if ids[name] != known:
                yield f"update {number} replaces {name}"
        for difference in differences(account, stack, wanted, conditions):
            yield f"after update {number}, {difference}"
    yield from deleted(account, stack, before)


def released_template():
    """Returns the template of the last release, or None before the first."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    tags = git("tag", "--list", "v*", "--sort=-v:refname").split()
    return template(git("show", f"{tags[0]}:template.yaml")) if tags else None


def main(folder, source):
    account = Account((Path(folder) / "endpoint").read_text())
    packaged = template(Path(source).read_text(encoding="utf-8"))
    faults = [f"variants.py has no parameters for the condition {name}"
              for name in sorted(set(packaged["Conditions"]) ^ set(CONDITIONS))]
    cases = {"every condition": CONDITIONS, "no condition": (), **{name: (name,) for name in CONDITIONS}}
    for number, (name, conditions) in enumerate(cases.items()):
        faults += [f"{name}: {fault}" for fault in created_and_deleted(account, packaged, conditions, f"v{number}")]
    faults += [f"updates: {fault}" for fault in updated(account, packaged, released_template(), "updates")]
    for fault in faults:
        print(fault)
    if faults:
        return 1
    print(f"    {len(cases)} stacks created and deleted, one updated from one extreme to the other and back")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
