"""Rules for the transformed template of the database function, each broken once.

    database_rules.py infra/database/template.yaml

Prints a sentence for each violation and for each breakage that its rule misses, and fails if there is one.
"""

import json
import sys
from pathlib import Path

from rules import expect, granted, listed, of_type, properties, statements, value
from transform import transform

NO_VALUE = {"Ref": "AWS::NoValue"}
SECRETS = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:djinn/data/*"
USER = "arn:${AWS::Partition}:rds-db:${AWS::Region}:${AWS::AccountId}:dbuser:${IamUser}"
NAME = "${Djinn}-database"
OWN = "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:" + NAME
LOG = {"Fn::GetAtt": ["DatabaseLogs", "Arn"]}

# Everything that is granted, by place and action.
GRANTS = {
    ("DatabaseRole/logs", "logs:CreateLogStream"): LOG,
    ("DatabaseRole/logs", "logs:PutLogEvents"): LOG,
    ("DatabaseRole/passwords", "secretsmanager:GetSecretValue"): {"Fn::Sub": SECRETS},
    **{("DatabaseRole/network", f"ec2:{action}"): "*" for action in (
        "AssignPrivateIpAddresses", "CreateNetworkInterface", "DeleteNetworkInterface",
        "DescribeNetworkInterfaces", "DescribeSubnets", "UnassignPrivateIpAddresses")},
    ("LoginPolicy", "rds-db:connect"): {"Fn::Sub": USER},
    ("KmsPolicy", "kms:Decrypt"): {"Ref": "KmsKeyArn"},
}

CONDITIONAL = {"LoginPolicy": "HasIamUser", "KmsPolicy": "HasKmsKey"}


def the_function_runs_for_one_tenant_in_the_network(template):
    function = properties(template, "Database")
    for path, wanted in {
        "FunctionName": {"Fn::Sub": NAME},
        "Runtime": "provided.al2023",
        "Handler": "bootstrap",
        "Architectures": ["arm64"],
        "MemorySize": 512,
        # shared/aws/src/database.rs waits five seconds longer.
        "Timeout": 45,
        "TenancyConfig.TenantIsolationMode": "PER_TENANT",
        "VpcConfig.SubnetIds": {"Ref": "DataSubnets"},
        "VpcConfig.SecurityGroupIds": {"Ref": "DataSecurityGroups"},
        "ReservedConcurrentExecutions": {"Fn::If": ["HasBound", {"Ref": "Concurrency"}, NO_VALUE]},
        "LoggingConfig.LogFormat": "JSON",
        "LoggingConfig.LogGroup": {"Ref": "DatabaseLogs"},
        "Role": {"Fn::GetAtt": ["DatabaseRole", "Arn"]},
        # The requests name the databases.
        "Environment": None,
    }.items():
        yield from expect("Database", function, path, wanted)
    if len(of_type(template, "AWS::Lambda::Function")) != 1:
        yield "there is another function"


def the_function_may_log_and_read_passwords(template):
    found = {}
    for where, statement in granted(template):
        for action in listed(statement.get("Action")):
            found[where, action] = statement.get("Resource")
    for key in sorted(set(found) | set(GRANTS)):
        if found.get(key) != GRANTS.get(key):
            yield f"{key[0]} grants {key[1]} on {json.dumps(found.get(key))}, not {json.dumps(GRANTS.get(key))}"
    for name, condition in CONDITIONAL.items():
        yield from expect(name, template["Resources"].get(name, {}), "Condition", condition)
    for role in of_type(template, "AWS::IAM::Role").values():
        if role.get("ManagedPolicyArns"):
            yield "the role has managed policies, whose content is not here to be checked"
    [key] = listed(value(properties(template, "KmsPolicy"), "PolicyDocument.Statement"))
    via = {"Fn::Sub": "secretsmanager.${AWS::Region}.${AWS::URLSuffix}"}
    yield from expect("KmsPolicy", key, "Condition.StringEquals.kms:ViaService", via)


def the_functions_own_code_has_no_right_to_networks(template):
    denied = [
        statement
        for _, statement in statements("DatabaseRole", template["Resources"]["DatabaseRole"])
        if statement["Effect"] == "Deny"
    ]
    wanted = {"Effect": "Deny", "Action": "ec2:*", "Resource": "*",
              "Condition": {"ArnEquals": {"lambda:SourceFunctionArn": {"Fn::Sub": OWN}}}}
    if denied != [wanted]:
        yield f"DatabaseRole denies {json.dumps(denied)}"


def template_grants_no_other_caller(template):
    kinds = {resource["Type"] for resource in template["Resources"].values()}
    known = {"AWS::IAM::Policy", "AWS::IAM::Role", "AWS::Lambda::Function", "AWS::Logs::LogGroup"}
    for kind in sorted(kinds - known):
        yield f"there is a resource of the type {kind}"


RULES = {
    the_function_runs_for_one_tenant_in_the_network: [
        ("PER_TENANT", "NONE", "Tenan"),
        ("!Ref DataSubnets", "[subnet-1]", "SubnetIds"),
        ("!Ref DataSecurityGroups", "[sg-1]", "SecurityGroupIds"),
        ("Timeout: 45", "Timeout: 900", "Timeout is 900"),
        ("[HasBound, !Ref Concurrency,", "[HasBound, 0,", "Reserved"),
        ("${Djinn}-database\n      Desc", "database\n      Desc", "FunctionName"),
        ("      Timeout: 45\n", "      Timeout: 45\n      Environment:\n        Variables:\n          DJINN_LOCAL: '1'\n",
         "Environment"),
    ],
    the_function_may_log_and_read_passwords: [
        ("secret:djinn/data/*", "secret:djinn/*", "secretsmanager:GetSecretValue"),
        ("[logs:CreateLogStream, logs:PutLogEvents]", "logs:*", "logs:*"),
        ("dbuser:${IamUser}", "dbuser:*", "rds-db:connect"),
        ("    Condition: HasIamUser\n", "", "LoginPolicy: Condition"),
        ("    Condition: HasKmsKey\n", "", "KmsPolicy: Condition"),
        ("kms:Decrypt", "kms:Encrypt", "kms:Encrypt"),
        ("!Sub secretsmanager.${AWS::Region}", "!Sub s3.${AWS::Region}", "kms:ViaService"),
        ("      Policies:\n", "      ManagedPolicyArns: [arn:aws:iam::aws:policy/ReadOnlyAccess]\n      Policies:\n",
         "managed policies"),
    ],
    the_functions_own_code_has_no_right_to_networks: [
        ("Action: ec2:*", "Action: ec2:Describe*", "denies"),
        ("function:${Djinn}-database", "function:other", "denies"),
    ],
    template_grants_no_other_caller: [
        ("Outputs:\n", "  Open:\n    Type: AWS::Lambda::Permission\n    Properties:\n      FunctionName: !Ref Database\n"
         "      Action: lambda:InvokeFunction\n      Principal: '*'\n\nOutputs:\n", "AWS::Lambda::Permission"),
    ],
}


def main(path: str) -> int:
    source = Path(path).read_text(encoding="utf-8")
    found = [sentence for rule in RULES for sentence in rule(transform(source))]
    for rule, breakages in RULES.items():
        for old, new, expected in breakages:
            if old not in source:
                found.append(f"`{old}` is not in the template any more")
            elif not any(expected in sentence for sentence in rule(transform(source.replace(old, new)))):
                found.append(f"{rule.__name__} does not notice `{new}` for `{old}`")
    for sentence in found:
        print(sentence)
    if not found:
        print(f"{len(RULES)} rules, and all of {sum(map(len, RULES.values()))} breakages are noticed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
