"""Rules for the transformed template. tests/it/settings.rs compares the template's settings with the
tables of shared/settings.

    rules.py target/template.json

Prints a sentence for each violation, and fails if there is one. `breakages.py` shows that each rule
can fail.
"""

import json
import re
import sys
from pathlib import Path

# The functions that drive runs.
DRIVERS = ("Agent", "Executor")

# All allowed actions. Document a new action in the port's documentation in shared/runtime too.
DRIVER_ACTIONS = {
    "bedrock:InvokeModel",
    "bedrock:InvokeModelWithResponseStream",
    "dynamodb:DeleteItem",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:UpdateItem",
    "iam:PassRole",
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
    "lambda:InvokeFunction",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "s3:DeleteObject",
    "s3:GetObject",
    "s3:ListBucket",
    "s3:PutObject",
    "scheduler:CreateSchedule",
    "scheduler:DeleteSchedule",
    "scheduler:UpdateSchedule",
    "secretsmanager:GetSecretValue",
    "sqs:SendMessage",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
}

# Headers of JoyAgent's preflights, of a page's key, and of requests signed by a page.
NEEDED_HEADERS = {"authorization", "cache-control", "content-type", "last-event-id", "x-api-key"}

# Maximum number of parameters: everything but infrastructure is said in the configuration folder.
MAX_PARAMETERS = 30

# Routes of the REST API without a signature: links for responses and for files.
OPEN_METHODS = {
    ("/respond/{token}", "get"),
    ("/respond/{token}", "post"),
    ("/v1/file_tool/download/{token}/{name}", "get"),
    ("/v1/file_tool/preview/{token}/{name}", "get"),
}

# Fields of a lifecycle rule that delete objects.
EXPIRES = {
    "ExpirationDate",
    "ExpirationInDays",
    "NoncurrentVersionExpiration",
    "NoncurrentVersionExpirationInDays",
}

GET_SECRET = {"secretsmanager:GetSecretValue"}
INVOKE_MODEL = {"bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"}

# Policies for secrets and models: condition, granted resource, and roles.
ASKED_FOR = {
    "AgentSecretPolicy": ("HasAgentSecret", GET_SECRET, ("Agent",)),
    "BedrockPolicy": ("HasBedrock", INVOKE_MODEL, DRIVERS),
    "LinkKeyPolicy": ("MakesLinkKey", GET_SECRET, ("Agent",)),
    "SecretPolicy": ("HasSecret", GET_SECRET, DRIVERS),
}

# The parameters that enable these policies, with the conditions.
ASKING = {
    "HasAgentSecret": "AgentSecretName",
    "HasBedrock": "BedrockModels",
    "HasSecret": "SecretName",
}

# The ARN of a secret by name: Secrets Manager appends six characters.
SECRET = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${%s}-??????"

EXECUTOR = {"Fn::GetAtt": ["Executor", "Arn"]}

# The function of infra/database, whose name its own rules check.
DATABASE = {
    "Fn::Sub": "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:${AWS::StackName}-database"
}

# The functions of the sandbox, with the handler and the end of the name.
SANDBOX = {"Sandbox": ("code", "sandbox"), "SandboxDocuments": ("documents", "documents")}
SANDBOX_ARNS = [{"Fn::GetAtt": [name, "Arn"]} for name in SANDBOX]

# The functions of the web gateway by role, and all resources that WithWeb adds.
WEB = {"Fetch": "fetch", "Call": "call"}
WEB_ARNS = [{"Fn::GetAtt": [name, "Arn"]} for name in WEB]
WEB_RESOURCES = ("WebPolicy", "SealKeySecret", *(f"{name}{part}" for name in WEB for part in ("", "Logs", "Role")))

# Secrets that the gateway's function Call may read.
TOOL_SECRETS = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:djinn/tools/*"

# The objects of the configuration folder, which Call reads too.
CONFIG_OBJECTS = "${Bucket.Arn}/config/*"

# The resources that WithSandbox adds.
SANDBOX_RESOURCES = (
    "Sandbox",
    "SandboxDocuments",
    "SandboxEndpoint",
    "SandboxLogs",
    "SandboxPolicy",
    "SandboxRole",
    "SandboxRoutes",
    "SandboxRoutesA",
    "SandboxRoutesB",
    "SandboxSecurityGroup",
    "SandboxSubnetA",
    "SandboxSubnetB",
    "SandboxVpc",
)

# All actions of the sandbox's role: logs, and Lambda's actions for attaching a function to a network.
SANDBOX_LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}
SANDBOX_NETWORK = {
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
}

# The prefix of all data of tenants; the texts of the deployment have another prefix.
TENANTS = "${Bucket.Arn}/tenants/*"

# The only objects of the bucket that the sandbox's network can reach.
SANDBOX_OBJECTS = {
    "s3:GetObject": [f"{TENANTS}/files/*", f"{TENANTS}/sandbox/*", f"{TENANTS}/uploads/*"],
    "s3:PutObject": [f"{TENANTS}/sandbox/*"],
}

# The KMS key of KmsKeyArn, if any.
KMS_KEY = {"Ref": "KmsKeyArn"}
NO_VALUE = {"Ref": "AWS::NoValue"}

# The actions on the key by policy, and the allowed services.
KMS_POLICIES = {
    "KmsPolicy": (
        "HasKmsKey",
        DRIVERS,
        sorted(action for action in DRIVER_ACTIONS if action.startswith("kms:")),
        ("dynamodb", "s3", "secretsmanager"),
    ),
    "CallKmsPolicy": ("HasWebAndKmsKey", ("Call",), ["kms:Decrypt"], ("s3", "secretsmanager")),
}
SCHEDULE_ROLE = {"Fn::GetAtt": ["ScheduleRole", "Arn"]}

# All actions of the drivers on run alarms, and the schedules of this stack.
SCHEDULE_ACTIONS = ("scheduler:CreateSchedule", "scheduler:DeleteSchedule", "scheduler:UpdateSchedule")
SCHEDULES = {
    "Fn::Sub": "arn:${AWS::Partition}:scheduler:${AWS::Region}:${AWS::AccountId}:schedule/${Schedules}/*"
}


def complaints(template: dict) -> list[str]:
    """Returns a sentence for each problem of a transformed template."""
    return [complaint for rule in RULES for complaint in rule(template)]


def drivers_run_as_they_must(template):
    for name in DRIVERS:
        function = properties(template, name)
        for path, wanted in {
            "Runtime": "provided.al2023",
            "Architectures": ["arm64"],
            "Timeout": 900,
            "RecursiveLoop": "Allow",
            "TracingConfig.Mode": "Active",
            "LoggingConfig.LogFormat": "JSON",
            # A function URL does not stream from a network, and only the sandbox needs one.
            "VpcConfig": None,
        }.items():
            yield from expect(name, function, path, wanted)


def settings_are_said_in_the_folder(template):
    parameters = template["Parameters"]
    if len(parameters) > MAX_PARAMETERS:
        yield f"there are {len(parameters)} parameters, more than {MAX_PARAMETERS}"
    yield from expect("parameter Config", parameters["Config"], "Default", "@config")
    for name in DRIVERS:
        function = properties(template, name)
        yield from expect(name, function, "Environment.Variables.DJINN_CONFIG", {"Ref": "Config"})
        variables = value(function, "Environment.Variables") or {}
        for variable in sorted(variables):
            # Two underscores separate a section of djinn.toml and a field, over which the variable would win.
            if "__" in variable:
                yield f"{name}: {variable} overrides a field of djinn.toml"


def concurrency_is_bounded_if_asked_for(template):
    for name in DRIVERS:
        bound = {"Ref": f"{name}Concurrency"}
        wanted = {"Fn::If": [f"Has{name}Bound", bound, {"Ref": "AWS::NoValue"}]}
        yield from expect(name, properties(template, name), "ReservedConcurrentExecutions", wanted)
    for name in (*DRIVERS, "Tool"):
        # Lambda starts no function with a reserved concurrency of 0.
        wanted = {"Fn::Not": [{"Fn::Equals": [{"Ref": f"{name}Concurrency"}, 0]}]}
        yield from expect(f"condition Has{name}Bound", template["Conditions"], f"Has{name}Bound", wanted)


def nothing_is_local(template):
    if "DJINN_LOCAL" in json.dumps(template):
        yield "DJINN_LOCAL is named: it lets everybody in as one user, and is for laptops"


def the_url_streams_and_is_closed_by_default(template):
    urls = of_type(template, "AWS::Lambda::Url")
    if len(urls) != 1:
        yield f"there are {len(urls)} function URLs, not one"
    for name, url in urls.items():
        yield from expect(name, url, "InvokeMode", "RESPONSE_STREAM")
        yield from expect(name, url, "AuthType", {"Ref": "AuthType"})
        yield from expect(name, url, "TargetFunctionArn", {"Ref": "Agent"})
        if '"*"' in json.dumps(url.get("Cors")):
            yield f"{name} answers CORS with a *, which browsers refuse with credentials"
    parameters = template["Parameters"]
    yield from expect("parameter AuthType", parameters["AuthType"], "Default", "AWS_IAM")
    yield from expect("parameter Auth", parameters["Auth"], "Default", "iam")
    if "none" in parameters["Auth"]["AllowedValues"]:
        yield "parameter Auth may be none, which lets everybody in as one user"
    pattern = parameters["CorsOrigins"].get("AllowedPattern", "")
    if re.fullmatch(pattern, "*") or not re.fullmatch(pattern, "https://chat.example.org"):
        yield "parameter CorsOrigins must take whole origins and no *"


def pages_may_ask_and_load_files(template):
    origins = {"Ref": "CorsOrigins"}
    for name, url in of_type(template, "AWS::Lambda::Url").items():
        cors = given(url.get("Cors"), "HasOrigins") or {}
        yield from expect(f"{name}: Cors", cors, "AllowOrigins", origins)
        yield from expect(f"{name}: Cors", cors, "AllowCredentials", True)
        for header in sorted(NEEDED_HEADERS - set(cors.get("AllowHeaders", []))):
            yield f"{name}: a page may not send {header}"
    rules = value(properties(template, "Bucket"), "CorsConfiguration.CorsRules") or []
    rules = [given(rule, "HasOrigins") or rule for rule in rules]
    # After a redirect from the agent, a browser sends the agent's origin or `null`.
    for method, wanted in {"GET": ["*"], "HEAD": ["*"], "PUT": origins}.items():
        open_to = [rule for rule in rules if method in rule.get("AllowedMethods", [])]
        found = [rule["AllowedOrigins"] for rule in open_to]
        if found != [wanted]:
            yield f"Bucket: {method} is open to {json.dumps(found)}, not {json.dumps(wanted)}"


def objects_outlive_what_names_them(template):
    # Exchanges outlive journals by 370 days, and journals are kept for up to 365 days.
    object_days = 800
    rules = value(properties(template, "Bucket"), "LifecycleConfiguration.Rules") or []
    expiring = [rule for rule in rules if EXPIRES & set(rule)]
    wanted = [{"Id": "expire", "Status": "Enabled", "Prefix": "tenants/", "ExpirationInDays": object_days}]
    # Without a prefix, a rule also deletes the deployment's texts below config/.
    if expiring != wanted:
        yield f"Bucket expires {json.dumps(expiring)}, not what tenants have alone, after {object_days} days"
    for name in DRIVERS:
        function = properties(template, name)
        yield from expect(name, function, "Environment.Variables.DJINN_OBJECT_DAYS", str(object_days))


def the_rest_api_streams_if_asked_for(template):
    asked_for = {"Fn::Equals": [{"Ref": "WithRestApi"}, "true"]}
    yield from expect("condition HasRestApi", template["Conditions"], "HasRestApi", asked_for)
    parameter = template["Parameters"]["WithRestApi"]
    yield from expect("parameter WithRestApi", parameter, "Default", "false")
    yield from expect("RestApi", template["Resources"]["RestApi"], "Condition", "HasRestApi")
    api = properties(template, "RestApi")
    # Edge-optimised APIs end a stream after 30 silent seconds.
    yield from expect("RestApi", api, "EndpointConfiguration.Types", ["REGIONAL"])
    # Otherwise, bodies that are not text arrive corrupted.
    yield from expect("RestApi", api, "Body.x-amazon-apigateway-binary-media-types", ["*/*"])
    uri = {
        "Fn::Sub": "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2021-11-15/"
        "functions/${Agent.Arn}/response-streaming-invocations"
    }
    scheme = "Body.components.securitySchemes.sigv4.x-amazon-apigateway-authtype"
    yield from expect("RestApi", api, scheme, "awsSigv4")
    methods = {
        (path, name): method
        for path, methods in (value(api, "Body.paths") or {}).items()
        for name, method in methods.items()
    }
    for path, name in sorted({("/{proxy+}", "x-amazon-apigateway-any-method"), *OPEN_METHODS} - set(methods)):
        yield f"RestApi does not lead {name} to {path}"
    for (path, name), method in methods.items():
        security = [] if (path, name) in OPEN_METHODS else [{"sigv4": []}]
        name = f"RestApi: {name} {path}"
        yield from expect(name, method, "security", security)
        for key, wanted in {
            "type": "aws_proxy",
            "uri": uri,
            "responseTransferMode": "STREAM",
            "timeoutInMillis": 900000,
        }.items():
            yield from expect(name, method, f"x-amazon-apigateway-integration.{key}", wanted)
    # The agent receives the stage before the path.
    ignored = "Environment.Variables.AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH"
    yield from expect("Agent", properties(template, "Agent"), ignored, "true")


def what_needs_no_signature_is_throttled(template):
    [stage] = of_type(template, "AWS::ApiGateway::Stage").values()
    found = {
        (setting.get("ResourcePath"), setting.get("HttpMethod")): setting
        for setting in stage.get("MethodSettings", [])
    }
    body = value(properties(template, "RestApi"), "Body.paths") or {}
    unsigned = {
        (path, name)
        for path, methods in body.items()
        for name, method in methods.items()
        if not method.get("security")
    }
    limit = 50
    for path, name in sorted(unsigned):
        setting = found.get(("/" + path.replace("/", "~1"), name.upper()), {})
        for key in ("ThrottlingRateLimit", "ThrottlingBurstLimit"):
            yield from expect(f"RestApi: {name} {path}", setting, key, limit)


def only_the_rest_api_may_call_for_api_gateway(template):
    found = [
        permission
        for permission in of_type(template, "AWS::Lambda::Permission").values()
        if permission["Principal"] == "apigateway.amazonaws.com"
    ]
    if len(found) != 1:
        yield f"there are {len(found)} permissions for API Gateway, not one"
    for permission in found:
        yield from expect("RestApiInvoke", permission, "FunctionName", {"Ref": "Agent"})
        yield from expect("RestApiInvoke", permission, "Action", "lambda:InvokeFunction")
        if "${RestApi}/" not in json.dumps(permission.get("SourceArn")):
            yield "RestApiInvoke lets in more than the API of this stack"


def the_public_has_no_right_unless_asked_for(template):
    for name, resource in template["Resources"].items():
        if resource["Type"] != "AWS::Lambda::Permission":
            continue
        if resource["Properties"]["Principal"] == "*" and resource.get("Condition") != "IsPublic":
            yield f"{name} lets everybody in, and not only under the condition IsPublic"
    is_public = {"Fn::Equals": [{"Ref": "AuthType"}, "NONE"]}
    yield from expect("condition IsPublic", template["Conditions"], "IsPublic", is_public)


def drivers_may_do_what_they_need_and_no_more(template):
    for where, statement in granted(template):
        for key in ("NotAction", "NotResource", "NotPrincipal"):
            if key in statement:
                yield f"{where} has {key}, which grants what nobody thought of"
        if where.startswith(("SandboxRole/", "SandboxEndpoint")):
            continue  # They have rules of their own.
        actions = listed(statement.get("Action"))
        for action in actions:
            if action not in DRIVER_ACTIONS:
                yield f"{where} grants {action}, which no port needs"
        if "*" in listed(statement.get("Resource")):
            if not all(action.startswith("xray:") for action in actions):
                yield f"{where} grants {', '.join(actions)} on the resource *"
    for name, role in of_type(template, "AWS::IAM::Role").items():
        if role.get("ManagedPolicyArns"):
            yield f"{name} has managed policies, whose content is not here to be checked"
    for name in of_type(template, "AWS::IAM::ManagedPolicy"):
        yield f"{name} is a managed policy; roles have inline ones"
    for name in DRIVERS:
        role = {"Fn::GetAtt": [f"{name}Role", "Arn"]}
        yield from expect(name, properties(template, name), "Role", role)


def only_the_executor_is_invoked(template):
    for where, statement in granted(template):
        actions = listed(statement.get("Action"))
        others = {"DatabasePolicy": DATABASE, "SandboxPolicy": SANDBOX_ARNS, "WebPolicy": WEB_ARNS}
        invoked = others.get(where, EXECUTOR)
        if "lambda:InvokeFunction" in actions and statement.get("Resource") != invoked:
            yield f"{where} grants lambda:InvokeFunction on more than the executor"
        if "iam:PassRole" in actions:
            to = value(statement, "Condition.StringEquals.iam:PassedToService")
            if statement.get("Resource") != SCHEDULE_ROLE or to != "scheduler.amazonaws.com":
                yield f"{where} passes more than the schedules' role to the scheduler"


def every_driver_and_alarm_may_invoke_the_executor(template):
    for name, wanted in {
        "RunPolicy": [{"Ref": f"{driver}Role"} for driver in DRIVERS],
        "SchedulePolicy": [{"Ref": "ScheduleRole"}],
    }.items():
        policy = properties(template, name)
        yield from expect(name, policy, "Roles", wanted)
        statements = listed(value(policy, "PolicyDocument.Statement"))
        if not any("lambda:InvokeFunction" in listed(s.get("Action")) for s in statements):
            yield f"{name} does not grant lambda:InvokeFunction"


def schedules_act_for_this_account(template):
    [trust] = properties(template, "ScheduleRole")["AssumeRolePolicyDocument"]["Statement"]
    yield from expect("ScheduleRole", trust, "Principal.Service", "scheduler.amazonaws.com")
    wanted = {"Ref": "AWS::AccountId"}
    yield from expect("ScheduleRole", trust, "Condition.StringEquals.aws:SourceAccount", wanted)
    group = {"Fn::GetAtt": ["Schedules", "Arn"]}
    yield from expect("ScheduleRole", trust, "Condition.StringEquals.aws:SourceArn", group)


def drivers_make_schedules_that_run_as_the_schedules_role(template):
    policy = properties(template, "RunPolicy")
    allowed = {
        action: statement
        for statement in listed(value(policy, "PolicyDocument.Statement"))
        for action in listed(statement.get("Action"))
        if statement["Effect"] == "Allow"
    }
    # An emulator creates schedules without iam:PassRole; AWS does not.
    for action, resource in {**{action: SCHEDULES for action in SCHEDULE_ACTIONS},
                             "iam:PassRole": SCHEDULE_ROLE}.items():
        yield from expect(f"RunPolicy: {action}", allowed.get(action), "Resource", resource)
    for name in DRIVERS:
        variables = value(properties(template, name), "Environment.Variables")
        yield from expect(name, variables, "DJINN_SCHEDULE_GROUP", {"Ref": "Schedules"})
        yield from expect(name, variables, "DJINN_SCHEDULE_ROLE_ARN", SCHEDULE_ROLE)


def secrets_and_bedrock_are_asked_for(template):
    for name, resource in template["Resources"].items():
        granted_here = {
            action
            for _, statement in statements(name, resource)
            for action in listed(statement.get("Action"))
            if action.startswith(("secretsmanager:", "bedrock:"))
        }
        if name == "CallRole":
            continue  # It has a rule of its own.
        if granted_here and name not in ASKED_FOR:
            yield f"{name} grants {', '.join(sorted(granted_here))}, which is for {', '.join(ASKED_FOR)}"
    for name, (condition, actions, drivers) in ASKED_FOR.items():
        resource, policy = template["Resources"].get(name, {}), properties(template, name)
        yield from expect(name, resource, "Condition", condition)
        yield from expect(name, policy, "Roles", [{"Ref": f"{driver}Role"} for driver in drivers])
        grants = listed(value(policy, "PolicyDocument.Statement"))
        found = {action for statement in grants for action in listed(statement.get("Action"))}
        if found != actions:
            yield f"{name} grants {', '.join(sorted(found)) or 'nothing'}, not {', '.join(sorted(actions))}"
    for condition, parameter in ASKING.items():
        given = {"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, ""]}]}
        yield from expect(f"condition {condition}", template["Conditions"], condition, given)


def each_function_reads_the_secrets_that_are_named_for_it(template):
    for name, parameter in {"SecretPolicy": "SecretName", "AgentSecretPolicy": "AgentSecretName"}.items():
        yield from expect(f"parameter {parameter}", template["Parameters"].get(parameter), "Default", "")
        for statement in listed(value(properties(template, name), "PolicyDocument.Statement")):
            yield from expect(name, statement, "Resource", {"Fn::Sub": SECRET % parameter})


def links_have_a_key_that_only_the_agent_reads(template):
    secret = {"Ref": "LinkKeySecret"}
    made = {"Fn::Sub": "secret:${LinkKeySecret}"}
    wanted = {"Fn::If": ["MakesLinkKey", made, {"Ref": "LinkKey"}]}
    key = "Environment.Variables.DJINN_LINK_KEY"
    yield from expect("Agent", properties(template, "Agent"), key, wanted)
    none_given = {"Fn::Equals": [{"Ref": "LinkKey"}, ""]}
    yield from expect("condition MakesLinkKey", template["Conditions"], "MakesLinkKey", none_given)
    resource = template["Resources"].get("LinkKeySecret", {})
    yield from expect("LinkKeySecret", resource, "Condition", "MakesLinkKey")
    chance = properties(template, "LinkKeySecret")
    yield from expect("LinkKeySecret", chance, "GenerateSecretString.PasswordLength", 64)
    # A comma would split the key into two.
    yield from expect("LinkKeySecret", chance, "GenerateSecretString.ExcludePunctuation", True)
    for statement in listed(value(properties(template, "LinkKeyPolicy"), "PolicyDocument.Statement")):
        yield from expect("LinkKeyPolicy", statement, "Resource", secret)


def keys_of_users_are_sealed_with_a_key_that_only_call_reads(template):
    chance = properties(template, "SealKeySecret")
    yield from expect("SealKeySecret", chance, "GenerateSecretString.PasswordLength", 64)
    yield from expect("SealKeySecret", chance, "GenerateSecretString.ExcludePunctuation", True)
    for where, statement in granted(template):
        if {"Ref": "SealKeySecret"} in listed(statement.get("Resource")) and where != "CallRole/keys":
            yield f"{where} grants the key that seals users' keys"


def lambda_does_not_repeat_the_executor(template):
    configs = of_type(template, "AWS::Lambda::EventInvokeConfig")
    ours = [c for c in configs.values() if c["FunctionName"] == {"Ref": "Executor"}]
    if len(ours) != 1:
        yield "Executor has no EventInvokeConfig, so that Lambda tries failed invocations again"
    for config in ours:
        yield from expect("Executor", config, "MaximumRetryAttempts", 0)
        # The period of a run's alarm: tests/it/template.rs compares the two.
        yield from expect("Executor", config, "MaximumEventAgeInSeconds", 120)


def what_the_executor_failed_at_is_kept(template):
    queue = {"Fn::GetAtt": ["Undelivered", "Arn"]}
    for config in of_type(template, "AWS::Lambda::EventInvokeConfig").values():
        yield from expect("Executor", config, "DestinationConfig.OnFailure.Destination", queue)
    sends = [
        statement.get("Resource")
        for where, statement in granted(template)
        if "sqs:SendMessage" in listed(statement.get("Action")) and where.startswith("ExecutorRole")
    ]
    if sends != [queue]:
        yield f"ExecutorRole may send to {json.dumps(sends)}, not to the queue Undelivered"
    fortnight = 14 * 24 * 60 * 60
    messages = properties(template, "Undelivered")
    yield from expect("Undelivered", messages, "MessageRetentionPeriod", fortnight)
    alarm = properties(template, "UndeliveredAlarm")
    watched = [{"Name": "QueueName", "Value": {"Fn::GetAtt": ["Undelivered", "QueueName"]}}]
    yield from expect("UndeliveredAlarm", alarm, "Dimensions", watched)


def the_table_is_kept_and_bounded(template):
    yield from kept(template, "Table")
    table = properties(template, "Table")
    for path, wanted in {
        "BillingMode": "PAY_PER_REQUEST",
        # The attribute that shared/aws/src/key.rs writes.
        "TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": True},
        "PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled": True,
    }.items():
        yield from expect("Table", table, path, wanted)
    # Without these limits, nothing bounds the table's price.
    for limit in ("MaxReadRequestUnits", "MaxWriteRequestUnits"):
        yield from expect("Table", table, f"OnDemandThroughput.{limit}", {"Ref": "TableUnits"})


def the_bucket_is_kept_and_private(template):
    yield from kept(template, "Bucket")
    bucket = properties(template, "Bucket")
    blocked = {
        "BlockPublicAcls": True,
        "BlockPublicPolicy": True,
        "IgnorePublicAcls": True,
        "RestrictPublicBuckets": True,
    }
    yield from expect("Bucket", bucket, "PublicAccessBlockConfiguration", blocked)
    ownership = [{"ObjectOwnership": "BucketOwnerEnforced"}]
    yield from expect("Bucket", bucket, "OwnershipControls.Rules", ownership)
    rules = value(bucket, "LifecycleConfiguration.Rules") or []
    enabled = [rule for rule in rules if rule["Status"] == "Enabled"]
    for key in ("ExpirationInDays", "AbortIncompleteMultipartUpload"):
        if not any(key in rule for rule in enabled):
            yield f"Bucket has no enabled lifecycle rule with {key}"
    plain = value(properties(template, "BucketPolicy"), "PolicyDocument.Statement") or []
    if not any(
        statement["Effect"] == "Deny"
        and value(statement, "Condition.Bool.aws:SecureTransport") == "false"
        for statement in plain
    ):
        yield "Bucket may be used without TLS"


def the_sandbox_is_there_if_asked_for(template):
    asked_for = {"Fn::Equals": [{"Ref": "WithSandbox"}, "true"]}
    yield from expect("condition HasSandbox", template["Conditions"], "HasSandbox", asked_for)
    yield from expect("WithSandbox", template["Parameters"]["WithSandbox"], "Default", "false")
    found = {name for name in template["Resources"] if name.startswith("Sandbox")}
    for name in sorted(found ^ set(SANDBOX_RESOURCES)):
        yield f"{name} is in the template or among SANDBOX_RESOURCES, but not in both"
    for name in sorted(found):
        yield from expect(name, template["Resources"][name], "Condition", "HasSandbox")
    policy = properties(template, "SandboxPolicy")
    yield from expect("SandboxPolicy", policy, "Roles", [{"Ref": f"{driver}Role"} for driver in DRIVERS])
    variables = {"DJINN_SANDBOX": SANDBOX_ARNS[0], "DJINN_SANDBOX_DOCUMENTS": SANDBOX_ARNS[1]}
    for name in DRIVERS:
        function = properties(template, name)
        for variable, arn in variables.items():
            wanted = {"Fn::If": ["HasSandbox", arn, {"Ref": "AWS::NoValue"}]}
            yield from expect(name, function, f"Environment.Variables.{variable}", wanted)


def the_sandbox_runs_as_it_must(template):
    for name, (handler, _) in SANDBOX.items():
        yield from runs_as_it_must(name, properties(template, name), handler)


def runs_as_it_must(name, function, handler):
    for path, wanted in {
        "Handler": handler,
        "Runtime": "python3.13",
        "Architectures": ["arm64"],
        "MemorySize": 2048,
        "Timeout": 60,
        "EphemeralStorage.Size": 1024,
        "TenancyConfig.TenantIsolationMode": "PER_TENANT",
        "Role": {"Fn::GetAtt": ["SandboxRole", "Arn"]},
        # No variables of the deployment, and the sandbox program instead of Python's loop.
        "Environment.Variables": {"AWS_LAMBDA_EXEC_WRAPPER": "/var/task/sandbox"},
        "ReservedConcurrentExecutions": {
            "Fn::If": ["HasToolBound", {"Ref": "ToolConcurrency"}, {"Ref": "AWS::NoValue"}]
        },
        "VpcConfig.SubnetIds": [{"Ref": "SandboxSubnetA"}, {"Ref": "SandboxSubnetB"}],
        "VpcConfig.SecurityGroupIds": [{"Ref": "SandboxSecurityGroup"}],
    }.items():
        yield from expect(name, function, path, wanted)
    for other in ("Layers", "FileSystemConfigs", "TracingConfig"):
        if other in function:
            yield f"{name} has {other}, which leads somewhere"


def the_sandbox_has_no_right_but_logs(template):
    policies = properties(template, "SandboxRole").get("Policies", [])
    granted_here, denied = {}, []
    for policy in policies:
        for statement in listed(policy["PolicyDocument"]["Statement"]):
            if statement["Effect"] == "Deny":
                denied.append(statement)
            for action in listed(statement.get("Action")):
                if statement["Effect"] == "Allow":
                    granted_here[action] = statement.get("Resource")
    if set(granted_here) != SANDBOX_LOGS | SANDBOX_NETWORK:
        yield f"SandboxRole grants {', '.join(sorted(granted_here))}"
    for action in SANDBOX_LOGS:
        if granted_here.get(action) != {"Fn::GetAtt": ["SandboxLogs", "Arn"]}:
            yield f"SandboxRole grants {action} on more than the sandbox's log"
    # Lambda may use the role's network permissions; the code of the function may not.
    own = "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:${AWS::StackName}-%s"
    own = [{"Fn::Sub": own % end} for _, end in SANDBOX.values()]
    wanted = {"ArnEquals": {"lambda:SourceFunctionArn": own}}
    if not any(
        statement.get("Action") == "ec2:*"
        and statement.get("Resource") == "*"
        and statement.get("Condition") == wanted
        for statement in denied
    ):
        yield "SandboxRole lets the sandbox's own code use its network's rights"
    for name, resource in template["Resources"].items():
        if name != "SandboxRole" and {"Ref": "SandboxRole"} in listed(
            resource.get("Properties", {}).get("Roles")
        ):
            yield f"{name} grants the sandbox more than its role does"
    for function, (_, end) in SANDBOX.items():
        name = properties(template, function).get("FunctionName")
        if name != {"Fn::Sub": "${AWS::StackName}-%s" % end}:
            yield f"{function} has another name than its role denies"


def nothing_leads_out_of_the_sandbox(template):
    vpc = {"Ref": "SandboxVpc"}
    yield from expect("SandboxVpc", properties(template, "SandboxVpc"), "EnableDnsSupport", False)
    for kind in ("InternetGateway", "NatGateway", "EgressOnlyInternetGateway", "Route", "VPCPeeringConnection"):
        for name in of_type(template, f"AWS::EC2::{kind}"):
            yield f"{name} leads out of a network, and the sandbox's is the only one"
    for name, subnet in of_type(template, "AWS::EC2::Subnet").items():
        if subnet.get("MapPublicIpOnLaunch"):
            yield f"{name} gives public addresses"
    routed = {
        json.dumps(association["SubnetId"])
        for association in of_type(template, "AWS::EC2::SubnetRouteTableAssociation").values()
        if association["RouteTableId"] == {"Ref": "SandboxRoutes"}
    }
    for name in sorted(of_type(template, "AWS::EC2::Subnet")):
        if json.dumps({"Ref": name}) not in routed:
            yield f"{name} is not routed by SandboxRoutes"
    for name, group in of_type(template, "AWS::EC2::SecurityGroup").items():
        if group.get("SecurityGroupIngress"):
            yield f"{name} lets somebody in"
        ports = [(e["IpProtocol"], e.get("FromPort"), e.get("ToPort")) for e in group.get("SecurityGroupEgress", [])]
        if ports != [("tcp", 443, 443)]:
            yield f"{name} lets out more than HTTPS: {json.dumps(ports)}"
    endpoints = of_type(template, "AWS::EC2::VPCEndpoint")
    if list(endpoints) != ["SandboxEndpoint"]:
        yield f"the endpoints are {', '.join(endpoints)}, not SandboxEndpoint alone"
    for name, endpoint in endpoints.items():
        yield from expect(name, endpoint, "VpcEndpointType", "Gateway")
        yield from expect(name, endpoint, "ServiceName", {"Fn::Sub": "com.amazonaws.${AWS::Region}.s3"})
        yield from expect(name, endpoint, "VpcId", vpc)
        yield from expect(name, endpoint, "RouteTableIds", [{"Ref": "SandboxRoutes"}])
        found = {}
        for statement in listed(value(endpoint, "PolicyDocument.Statement")):
            resources = [resource.get("Fn::Sub") for resource in listed(statement.get("Resource"))
                         if isinstance(resource, dict)]
            for action in listed(statement.get("Action")):
                found[action] = resources
        if found != SANDBOX_OBJECTS:
            yield f"{name} leads to {json.dumps(found)}"


def the_page_is_there_if_asked_for_and_never_without_a_sign_in(template):
    asked_for = {"Fn::Equals": [{"Ref": "WithPage"}, "true"]}
    yield from expect("condition HasPage", template["Conditions"], "HasPage", asked_for)
    yield from expect("WithPage", template["Parameters"]["WithPage"], "Default", "false")
    found = {name for name, resource in template["Resources"].items() if resource.get("Condition") == "HasPage"}
    if found != {"Page"}:
        yield f"HasPage adds {', '.join(sorted(found))}, not Page alone"
    agent = properties(template, "Agent")
    yield from expect("Agent", agent, "Layers", {"Fn::If": ["HasPage", [{"Ref": "Page"}], {"Ref": "AWS::NoValue"}]})
    folder = {"Fn::If": ["HasPage", "/opt/page", {"Ref": "AWS::NoValue"}]}
    yield from expect("Agent", agent, "Environment.Variables.DJINN_PAGE", folder)
    for name, function in of_type(template, "AWS::Lambda::Function").items():
        if name != "Agent" and "Layers" in function:
            yield f"{name} has Layers"
    rule = value(template, "Rules.PageCanSignIn") or {}
    yield from expect("rule PageCanSignIn", rule, "RuleCondition", asked_for)
    asserted = [assertion.get("Assert") for assertion in listed(rule.get("Assertions"))]
    if asserted != [{"Fn::Not": [{"Fn::Equals": [{"Ref": "Auth"}, "iam"]}]}]:
        yield f"rule PageCanSignIn asserts {json.dumps(asserted)}"


def the_web_is_there_if_asked_for(template):
    asked_for = {"Fn::Equals": [{"Ref": "WithWeb"}, "true"]}
    yield from expect("condition HasWeb", template["Conditions"], "HasWeb", asked_for)
    for name, default in {"WithWeb": "false", "EgressPorts": "", "ToolConcurrency": 0}.items():
        yield from expect(f"parameter {name}", template["Parameters"].get(name), "Default", default)
    conditional = {name for name, resource in template["Resources"].items() if resource.get("Condition") == "HasWeb"}
    for name in sorted(conditional ^ set(WEB_RESOURCES)):
        yield f"{name} is there under HasWeb or among WEB_RESOURCES, but not both"
    for name, role in WEB.items():
        wanted = {"Fn::If": ["HasWeb", {"Fn::GetAtt": [name, "Arn"]}, {"Ref": "AWS::NoValue"}]}
        for driver in DRIVERS:
            variables = value(properties(template, driver), "Environment.Variables")
            yield from expect(driver, variables, f"DJINN_GATEWAY_{role.upper()}", wanted)


def the_web_runs_as_it_must(template):
    for name, role in WEB.items():
        function = properties(template, name)
        variables = {"DJINN_GATEWAY_ROLE": role, "DJINN_EGRESS_PORTS": {"Ref": "EgressPorts"}}
        if role == "call":
            # The engines are fields of the configuration folder.
            variables |= {"DJINN_CONFIG": {"Ref": "Config"}, "DJINN_BUCKET": {"Ref": "Bucket"}}
            variables["DJINN_SEAL_KEY"] = {"Fn::Sub": "secret:${SealKeySecret}"}
        for path, wanted in {
            "Runtime": "provided.al2023",
            "Handler": "bootstrap",
            "Architectures": ["arm64"],
            # shared/aws/src/gateway.rs waits five seconds longer.
            "Timeout": {"fetch": 60, "call": 330}[role],
            "MemorySize": {"fetch": 512, "call": 256}[role],
            # A search belongs to one tenant. Pages are public, so these jobs name no tenant.
            "TenancyConfig": {"TenantIsolationMode": "PER_TENANT"} if role == "call" else None,
            "LoggingConfig.LogFormat": "JSON",
            "LoggingConfig.LogGroup": {"Ref": f"{name}Logs"},
            "Role": {"Fn::GetAtt": [f"{name}Role", "Arn"]},
            # No other variables of the deployment, and no folder for the function that parses pages.
            "Environment.Variables": variables,
            "ReservedConcurrentExecutions": {
                "Fn::If": ["HasToolBound", {"Ref": "ToolConcurrency"}, {"Ref": "AWS::NoValue"}]
            },
        }.items():
            yield from expect(name, function, path, wanted)
        metadata = template["Resources"].get(name, {}).get("Metadata")
        yield from expect(name, metadata, "BuildMethod", "rust-cargolambda")
        yield from expect(name, metadata, "BuildProperties.Binary", "gateway")
        for other in ("VpcConfig", "Layers", "FileSystemConfigs", "TracingConfig"):
            if other in function:
                yield f"{name} has {other}, which leads somewhere"


def the_web_has_no_right_but_logs_keys_and_the_folder(template):
    for name, role in WEB.items():
        wanted = {action: [{"Fn::GetAtt": [f"{name}Logs", "Arn"]}] for action in SANDBOX_LOGS}
        if role == "call":
            wanted["secretsmanager:GetSecretValue"] = [{"Fn::Sub": TOOL_SECRETS}, {"Ref": "SealKeySecret"}]
            wanted["s3:GetObject"] = [{"Fn::Sub": CONFIG_OBJECTS}]
        found = {}
        resource = template["Resources"].get(f"{name}Role", {"Type": None})
        for _, statement in statements(f"{name}Role", resource):
            for action in listed(statement.get("Action")):
                found.setdefault(action, []).extend(listed(statement.get("Resource")))
        if found != wanted:
            yield f"{name}Role grants {json.dumps(found, sort_keys=True)}"
        [trust] = value(resource, "Properties.AssumeRolePolicyDocument.Statement") or [None]
        yield from expect(f"{name}Role", trust, "Principal", {"Service": "lambda.amazonaws.com"})
        for other, policy in template["Resources"].items():
            roles = listed(policy.get("Properties", {}).get("Roles"))
            # A separate rule checks the role's use of a KMS key.
            if {"Ref": f"{name}Role"} in roles and (name, other) != ("Call", "CallKmsPolicy"):
                yield f"{other} grants {name} more than its role does"
        for other, function in of_type(template, "AWS::Lambda::Function").items():
            if other != name and function.get("Role") == {"Fn::GetAtt": [f"{name}Role", "Arn"]}:
                yield f"{other} has the role of {name}"


def the_drivers_alone_invoke_the_web(template):
    policy = properties(template, "WebPolicy")
    yield from expect("WebPolicy", policy, "Roles", [{"Ref": f"{driver}Role"} for driver in DRIVERS])
    found = listed(value(policy, "PolicyDocument.Statement"))
    wanted = [{"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": WEB_ARNS}]
    if found != wanted:
        yield f"WebPolicy grants {json.dumps(found)}, not {json.dumps(wanted)}"
    for kind in ("Permission", "Url"):
        for name, way in of_type(template, f"AWS::Lambda::{kind}").items():
            if any(f'"{function}"' in json.dumps(way) for function in WEB):
                yield f"{name} lets others than the drivers in"


def the_drivers_alone_invoke_the_database(template):
    policy = properties(template, "DatabasePolicy")
    yield from expect("DatabasePolicy", policy, "Roles", [{"Ref": f"{driver}Role"} for driver in DRIVERS])
    found = listed(value(policy, "PolicyDocument.Statement"))
    wanted = [{"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": DATABASE}]
    if found != wanted:
        yield f"DatabasePolicy grants {json.dumps(found)}, not {json.dumps(wanted)}"
    for name in DRIVERS:
        yield from expect(name, properties(template, name), "Environment.Variables.DJINN_DATABASE", DATABASE)


def a_key_of_kms_encrypts_what_is_kept_if_it_is_named(template):
    yield from expect("parameter KmsKeyArn", template["Parameters"].get("KmsKeyArn"), "Default", "")
    named = {"Fn::Not": [{"Fn::Equals": [KMS_KEY, ""]}]}
    both = {"Fn::And": [{"Condition": "HasWeb"}, {"Condition": "HasKmsKey"}]}
    yield from expect("condition HasKmsKey", template["Conditions"], "HasKmsKey", named)
    yield from expect("condition HasWebAndKmsKey", template["Conditions"], "HasWebAndKmsKey", both)
    key = {"Fn::If": ["HasKmsKey", KMS_KEY, NO_VALUE]}
    table = {"SSEEnabled": True, "SSEType": {"Fn::If": ["HasKmsKey", "KMS", NO_VALUE]}, "KMSMasterKeyId": key}
    yield from expect("Table", properties(template, "Table"), "SSESpecification", table)
    bucket = {
        "ServerSideEncryptionByDefault": {
            "SSEAlgorithm": {"Fn::If": ["HasKmsKey", "aws:kms", "AES256"]},
            "KMSMasterKeyID": key,
        },
        "BucketKeyEnabled": {"Fn::If": ["HasKmsKey", True, NO_VALUE]},
    }
    encryption = "BucketEncryption.ServerSideEncryptionConfiguration"
    yield from expect("Bucket", properties(template, "Bucket"), encryption, [bucket])
    for kind in ("AWS::Logs::LogGroup", "AWS::SecretsManager::Secret"):
        for name, resource in of_type(template, kind).items():
            yield from expect(name, resource, "KmsKeyId", key)


def the_key_of_kms_is_used_for_what_is_kept_alone(template):
    for name, (condition, roles, actions, services) in KMS_POLICIES.items():
        yield from expect(name, template["Resources"].get(name), "Condition", condition)
        policy = properties(template, name)
        yield from expect(name, policy, "Roles", [{"Ref": f"{role}Role"} for role in roles])
        via = [{"Fn::Sub": f"{service}.${{AWS::Region}}.${{AWS::URLSuffix}}"} for service in services]
        found = listed(value(policy, "PolicyDocument.Statement"))
        if len(found) != 1:
            yield f"{name} has {len(found)} statements, not one"
        for statement in found:
            if sorted(listed(statement.get("Action"))) != actions or statement.get("Resource") != KMS_KEY:
                yield f"{name} grants {json.dumps(statement)}"
            services_found = value(statement, "Condition.StringEquals.kms:ViaService")
            if listed(services_found) != via:
                yield f"{name} lets the key be used through {json.dumps(services_found)}"
    for where, statement in granted(template):
        is_kms = any(action.startswith(("kms:", "*")) for action in listed(statement.get("Action")))
        if is_kms and where not in KMS_POLICIES:
            yield f"{where} grants a right to keys of KMS"


RULES = (
    drivers_run_as_they_must,
    settings_are_said_in_the_folder,
    concurrency_is_bounded_if_asked_for,
    nothing_is_local,
    the_url_streams_and_is_closed_by_default,
    pages_may_ask_and_load_files,
    objects_outlive_what_names_them,
    the_rest_api_streams_if_asked_for,
    what_needs_no_signature_is_throttled,
    only_the_rest_api_may_call_for_api_gateway,
    the_public_has_no_right_unless_asked_for,
    drivers_may_do_what_they_need_and_no_more,
    only_the_executor_is_invoked,
    every_driver_and_alarm_may_invoke_the_executor,
    schedules_act_for_this_account,
    drivers_make_schedules_that_run_as_the_schedules_role,
    secrets_and_bedrock_are_asked_for,
    each_function_reads_the_secrets_that_are_named_for_it,
    links_have_a_key_that_only_the_agent_reads,
    keys_of_users_are_sealed_with_a_key_that_only_call_reads,
    lambda_does_not_repeat_the_executor,
    what_the_executor_failed_at_is_kept,
    the_table_is_kept_and_bounded,
    the_bucket_is_kept_and_private,
    the_sandbox_is_there_if_asked_for,
    the_sandbox_runs_as_it_must,
    the_sandbox_has_no_right_but_logs,
    nothing_leads_out_of_the_sandbox,
    the_page_is_there_if_asked_for_and_never_without_a_sign_in,
    the_web_is_there_if_asked_for,
    the_web_runs_as_it_must,
    the_web_has_no_right_but_logs_keys_and_the_folder,
    the_drivers_alone_invoke_the_web,
    the_drivers_alone_invoke_the_database,
    a_key_of_kms_encrypts_what_is_kept_if_it_is_named,
    the_key_of_kms_is_used_for_what_is_kept_alone,
)


def properties(template, name):
    return template["Resources"].get(name, {}).get("Properties", {})


def of_type(template, kind):
    """Returns the properties of all resources of a type, by name."""
    return {
        name: resource.get("Properties", {})
        for name, resource in template["Resources"].items()
        if resource["Type"] == kind
    }


def granted(template):
    """Yields each statement that allows an action to a function or the scheduler, with its place."""
    for name, resource in template["Resources"].items():
        for where, statement in statements(name, resource):
            if statement["Effect"] == "Allow":
                yield where, statement


def statements(name, resource):
    """Yields each statement of a role's or policy's documents, with its place."""
    documents = []
    if resource["Type"] == "AWS::IAM::Role":
        policies = resource["Properties"].get("Policies", [])
        documents = [(f"{name}/{p['PolicyName']}", p["PolicyDocument"]) for p in policies]
    elif "PolicyDocument" in resource.get("Properties", {}):
        documents = [(name, resource["Properties"]["PolicyDocument"])]
    for where, document in documents:
        for statement in listed(document["Statement"]):
            yield where, statement


def listed(one_or_many):
    if one_or_many is None:
        return []
    return one_or_many if isinstance(one_or_many, list) else [one_or_many]


def given(tree, condition):
    """Returns the value of a property if the condition holds, for a property that depends only on the condition."""
    branches = value(tree, "Fn::If") or [None, None]
    return branches[1] if branches[0] == condition else None


def value(tree, path):
    """Returns the value at `A.B.C`, or None."""
    for key in path.split("."):
        if not isinstance(tree, dict):
            return None
        tree = tree.get(key)
    return tree


def expect(name, tree, path, wanted):
    found = value(tree, path)
    if found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
        yield f"{name}: {path} is {json.dumps(found)}, not {json.dumps(wanted)}"


def kept(template, name):
    for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
        yield from expect(name, template["Resources"].get(name, {}), policy, "Retain")


def main(path: str) -> int:
    found = complaints(json.loads(Path(path).read_text(encoding="utf-8")))
    for complaint in found:
        print(complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
