"""Breaks the template on purpose, to show that the checks can fail.

    breakages.py template.yaml

Each breakage replaces a piece of the template's text. One checker, cfn-lint or a rule, checks the
broken and transformed template, and must report the expected message.
"""

import json
import sys
from pathlib import Path

from cfnlint.api import lint

import rules
from transform import transform


def cfn_lint(template: dict) -> list[str]:
    return [f"{match.rule.id} {match.message}" for match in lint(json.dumps(template))]


# By checker: the replaced text, the replacement, and a part of the expected message.
BREAKAGES = {
    cfn_lint: [
        # `sam validate --lint` passes these two.
        ("InvokeMode: RESPONSE_STREAM", "InvokeMode: STREAMING", "E3030 'STREAMING'"),
        ("[arm64]", "[arm]", "E3030 'arm'"),
        # A function whose environment names itself depends on itself.
        ("DJINN_EXECUTOR: !Sub", "DJINN_EXECUTOR: !GetAtt Executor.Arn #", "E3004"),
        # A resource that needs the REST API, without the REST API.
        ("Permission\n    Condition: HasRestApi\n", "Permission\n", "W1001"),
    ],
    rules.drivers_run_as_they_must: [
        ("[arm64]", "[x86_64]", "Architectures"),
        ("Timeout: 900", "Timeout: 60", "Timeout is 60, not 900"),
        ("RecursiveLoop: Allow", "RecursiveLoop: Terminate", "RecursiveLoop"),
        ("LogFormat: JSON", "LogFormat: Text", "LogFormat"),
        ("    RecursiveLoop: Allow\n", "    RecursiveLoop: Allow\n    VpcConfig:\n      SubnetIds: [subnet]\n",
         "Agent: VpcConfig"),
    ],
    rules.settings_are_said_in_the_folder: [
        ("  AuthType:\n", "  MaxSteps:\n    Type: Number\n    Default: 40\n  MaxCalls:\n    Type: Number\n    Default: 40\n  AuthType:\n", "parameters, more than"),
        ('Default: "@config"', 'Default: ""', "parameter Config"),
        ("DJINN_CONFIG: !Ref Config", 'DJINN_CONFIG: ""', "Executor: Environment.Variables.DJINN_CONFIG"),
        ("DJINN_AUTH:", "DJINN_LIMITS__MAX_STEPS: 9\n          DJINN_AUTH:", "DJINN_LIMITS__MAX_STEPS overrides"),
    ],
    rules.concurrency_is_bounded_if_asked_for: [
        ("[HasExecutorBound, !Ref ExecutorConcurrency,", "[HasExecutorBound, 0,", "Executor: Res"),
        ("[HasAgentBound,", "[HasExecutorBound,", "Agent: Reserved"),
        ("[!Equals [!Ref ToolConcurrency, 0]]", "[!Equals [!Ref ToolConcurrency, 1]]", "condition HasToolBound"),
    ],
    rules.nothing_is_local: [
        ("DJINN_AUTH:", 'DJINN_LOCAL: "1"\n          DJINN_AUTH:', "DJINN_LOCAL"),
    ],
    rules.the_url_streams_and_is_closed_by_default: [
        ("InvokeMode: RESPONSE_STREAM", "InvokeMode: BUFFERED", "InvokeMode"),
        ("Default: AWS_IAM", "Default: NONE", "AWS_IAM"),
        ("Default: iam", "Default: key", "parameter Auth"),
        ("[iam, key, jwt]", "[iam, key, jwt, none]", "lets everybody in"),
        ("AllowOrigins: !Ref CorsOrigins", 'AllowOrigins: ["*"]', "CORS"),
        (r"^(https?://[^*,/\s]+)?$", ".*", "whole origins"),
    ],
    rules.pages_may_ask_and_load_files: [
        ("              - cache-control\n", "", "may not send cache-control"),
        ("              - x-api-key\n", "", "may not send x-api-key"),
        ("AllowCredentials: true", "AllowCredentials: false", "AllowCredentials"),
        ("[GET, HEAD]", "[GET, HEAD, PUT]", "PUT is open to"),
        ('AllowedOrigins: ["*"]', "AllowedOrigins: !Ref CorsOrigins", "GET is open to"),
        ("AllowedMethods: [PUT]", "AllowedMethods: [PUT, HEAD]", "HEAD is open to"),
    ],
    rules.objects_outlive_what_names_them: [
        ("ExpirationInDays: 800", "ExpirationInDays: 7", "after 800 days"),
        ("            Prefix: tenants/\n", "", "not what tenants have alone"),
        ("Prefix: tenants/", "Prefix: config/", "not what tenants have alone"),
        ("          - Id: abort\n", "          - Id: old\n            Status: Enabled\n            Prefix: config/\n"
         "            ExpirationInDays: 900\n          - Id: abort\n", "not what tenants have alone"),
        ("DJINN_OBJECT_DAYS: \"800\"", "DJINN_OBJECT_DAYS: \"900\"", "DJINN_OBJECT_DAYS"),
    ],
    rules.the_rest_api_streams_if_asked_for: [
        ("TransferMode: STREAM", "TransferMode: RESPONSE_STREAM", "responseTransferMode"),
        ("                responseTransferMode: STREAM\n", "", "responseTransferMode"),
        ("path/2021-11-15/", "path/2015-03-31/", "integration.uri"),
        ("/response-streaming-invocations", "/invocations", "integration.uri"),
        ("timeoutInMillis: 900000", "timeoutInMillis: 29000", "is 29000, not 900000"),
        ("Type: REGIONAL", "Type: EDGE", "REGIONAL"),
        ('types: ["*/*"]', "types: [image/png]", "binary-media-types"),
        ("                - sigv4: []\n", "                - {}\n", "security"),
        ("            post:\n              security: []\n", "            post:\n", "post /respond/{token}"),
        ("/respond/{token}:", "/responds/{token}:", "does not lead get to /respond/{token}"),
        ("tool/download/{token}", "tool/download/{id}", "does not lead get to /v1/file_tool/download/"),
        ("/{proxy+}:", "/{proxy}:", "does not lead x-amazon-apigateway-any-method"),
        ("authtype: awsSigv4", "authtype: custom", "awsSigv4"),
        ('STAGE_IN_PATH: "true"', 'STAGE_IN_PATH: "false"', "IGNORE_STAGE_IN_PATH"),
        ('[!Ref WithRestApi, "true"]', '[!Ref AuthType, "NONE"]', "condition HasRestApi"),
        ("Api\n    Condition: HasRestApi\n", "Api\n", "Condition is null"),
        ('    Default: "false"\n', '    Default: "true"\n', "Default"),
    ],
    rules.what_needs_no_signature_is_throttled: [
        ("        - HttpMethod: POST\n          ResourcePath", "        - HttpMethod: PUT\n          ResourcePath",
         "post /respond/{token}: ThrottlingRateLimit is null"),
        ("ResourcePath: /~1v1~1file_tool~1preview~1", "ResourcePath: /v1/file_tool/preview/",
         "get /v1/file_tool/preview/{token}/{name}: ThrottlingRateLimit is null"),
        ("          ThrottlingBurstLimit: 50\n", "", "ThrottlingBurstLimit is null"),
        ("ThrottlingRateLimit: 50", "ThrottlingRateLimit: 10000", "ThrottlingRateLimit is 10000"),
        ("                - sigv4: []\n", "", "/{proxy+}: ThrottlingRateLimit is null"),
    ],
    rules.only_the_rest_api_may_call_for_api_gateway: [
        (":${RestApi}/*", ":*", "more than the API"),
        ("Principal: apigateway.amazonaws.com", "Principal: s3.amazonaws.com", "are 0 permissions"),
    ],
    rules.the_public_has_no_right_unless_asked_for: [
        ("    Condition: IsPublic\n", "", "lets everybody in"),
        ("!Equals [!Ref AuthType, NONE]", "!Not [!Equals [!Ref AuthType, AWS]]", "IsPublic"),
    ],
    rules.drivers_may_do_what_they_need_and_no_more: [
        ("Resource: !GetAtt Table.Arn", 'Resource: "*"', "on the resource *"),
        ("dynamodb:Query", "dynamodb:Scan", "grants dynamodb:Scan"),
        ("s3:PutObject]", "s3:PutObjectAcl]", "grants s3:PutObjectAcl"),
        ("iam:PassRole", "iam:*", "grants iam:*"),
        ("Action: sqs:SendMessage", "NotAction: sqs:SendMessage", "NotAction"),
        ("Role: !GetAtt AgentRole.Arn", "Role: !GetAtt ScheduleRole.Arn", "Agent: Role"),
        ("      AssumeRole", "      ManagedPolicyArns: [admin]\n      AssumeRole", "managed"),
    ],
    rules.only_the_executor_is_invoked: [
        ("Resource: !GetAtt Executor.Arn", "Resource: !GetAtt Agent.Arn", "InvokeFunction"),
        ("PassedToService: scheduler", "PassedToService: lambda", "passes more"),
        ("Resource: [!GetAtt Sandbox.Arn, ", "Resource: [!GetAtt Agent.Arn, ", "SandboxPolicy grants lambda:Invoke"),
        ("[!GetAtt Fetch.Arn, !GetAtt Call.Arn]", "[!GetAtt Fetch.Arn, !GetAtt Agent.Arn]", "WebPolicy grants lambda:I"),
    ],
    rules.every_driver_and_alarm_may_invoke_the_executor: [
        ("runs\n      Roles: [!Ref AgentRole, ", "runs\n      Roles: [", "RunPolicy: Roles"),
        ("InvokeFunction\n            Res", "InvokeAsync\n            Res", "RunPolicy does not"),
        ("Roles: [!Ref ScheduleRole]", "Roles: [!Ref AgentRole]", "SchedulePolicy: Roles"),
    ],
    rules.schedules_act_for_this_account: [
        ("aws:SourceAccount: !Ref AWS::AccountId", "aws:SourceOrgID: o-1", "SourceAccount"),
        ("aws:SourceArn: !GetAtt Schedules.Arn", "aws:SourceArn: !GetAtt Executor.Arn", "SourceArn"),
        ("Service: scheduler.amazonaws.com", "Service: events.amazonaws.com", "Principal.Service"),
    ],
    rules.drivers_make_schedules_that_run_as_the_schedules_role: [
        ("Action: iam:PassRole", "Action: s3:ListBucket", "RunPolicy: iam:PassRole: Resource is null"),
        ("              - scheduler:UpdateSchedule\n", "", "RunPolicy: scheduler:UpdateSchedule: Resource is null"),
        (":schedule/${Schedules}/*", ":schedule/default/*", "RunPolicy: scheduler:CreateSchedule: Resource"),
        ("DJINN_SCHEDULE_GROUP: !Ref Schedules", "DJINN_SCHEDULE_GROUP: default", "Agent: DJINN_SCHEDULE_GROUP"),
        ("DJINN_SCHEDULE_ROLE_ARN: !GetAtt ScheduleRole.Arn", "DJINN_SCHEDULE_ROLE_ARN: !GetAtt ExecutorRole.Arn",
         "Executor: DJINN_SCHEDULE_ROLE_ARN"),
    ],
    rules.secrets_and_bedrock_are_asked_for: [
        ("    Condition: HasBedrock\n", "", "HasBedrock"),
        ("    Condition: HasSecret\n", "    Condition: MakesLinkKey\n", "SecretPolicy: Condition"),
        ("Policy\n    Condition: MakesLinkKey\n", "Policy\n    Condition: HasSecret\n", "LinkKeyPolicy: Cond"),
        ("    Condition: HasAgentSecret\n", "", "AgentSecretPolicy: Condition is null"),
        ("link-key\n      Roles: [", "link-key\n      Roles: [!Ref ExecutorRole, ", "LinkKeyPolicy: Roles"),
        ("agent-secrets\n      Roles: [", "agent-secrets\n      Roles: [!Ref ExecutorRole, ", "AgentSecretPolicy: R"),
        ("GetSecretValue\n            Resource: !Ref Link", "PutSecretValue\n            Resource: !Ref Link",
         "LinkKeyPolicy grants secretsmanager:PutSecretValue"),
        ("Action: sqs:SendMessage", "Action: secretsmanager:GetSecretValue", "ExecutorRole grants secretsmanager"),
        ('[!Equals [!Ref AgentSecretName, ""]]', '[!Equals [!Ref SecretName, ""]]', "condition HasAgentSecret"),
    ],
    rules.each_function_reads_the_secrets_that_are_named_for_it: [
        ("secret:${AgentSecretName}-", "secret:${SecretName}-", "AgentSecretPolicy: Resource"),
        ("secret:${SecretName}-", "secret:${AgentSecretName}-", "SecretPolicy: Resource"),
    ],
    rules.links_have_a_key_that_only_the_agent_reads: [
        ("[MakesLinkKey, !Sub", "[HasOrigins, !Sub", "DJINN_LINK_KEY"),
        ('MakesLinkKey: !Equals [!Ref LinkKey, ""]', 'MakesLinkKey: !Equals [!Ref Auth, key]', "condition"),
        ("    Condition: MakesLinkKey\n", "", "LinkKeySecret: Condition is null"),
        ("ExcludePunctuation: true", "ExcludePunctuation: false", "ExcludePunctuation"),
        ("PasswordLength: 64", "PasswordLength: 16", "PasswordLength"),
        ("Resource: !Ref LinkKeySecret", 'Resource: "arn:*"', "LinkKeyPolicy: Resource"),
    ],
    rules.keys_of_users_are_sealed_with_a_key_that_only_call_reads: [
        ("PasswordLength: 64", "PasswordLength: 16", "SealKeySecret: GenerateSecretString.PasswordLength"),
        ("ExcludePunctuation: true", "ExcludePunctuation: false", "SealKeySecret: GenerateSecretString.Exclude"),
        ("Resource: !Ref LinkKeySecret", "Resource: !Ref SealKeySecret", "LinkKeyPolicy grants the key that seals"),
    ],
    rules.lambda_does_not_repeat_the_executor: [
        ("MaximumRetryAttempts: 0", "MaximumRetryAttempts: 2", "is 2, not 0"),
        ("        MaximumEventAgeInSeconds: 120\n", "", "MaximumEventAgeInSeconds is null"),
        ("EventInvokeConfig:", "Tags:", "no EventInvokeConfig"),
    ],
    rules.what_the_executor_failed_at_is_kept: [
        ("Destination: !GetAtt Undelivered.Arn", "Destination: !GetAtt Executor.Arn", "OnFailure"),
        ("Resource: !GetAtt Undelivered.Arn", "Resource: !GetAtt Table.Arn", "may send to"),
        ("MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 60", "is 60, not 1209600"),
        ("Value: !GetAtt Undelivered.QueueName", "Value: other", "UndeliveredAlarm"),
    ],
    rules.the_table_is_kept_and_bounded: [
        ("Enabled: true\n      BillingMode", "Enabled: false\n      BillingMode", "TimeToLive"),
        ("AttributeName: expires", "AttributeName: expires_at", "TimeToLive"),
        ("MaxReadRequestUnits: !Ref TableUnits", "MaxReadRequestUnits: -1", "MaxReadRequestUnits is -1"),
        ("RecoveryEnabled: true", "RecoveryEnabled: false", "PointInTime"),
        ("        MaxWriteRequestUnits: !Ref TableUnits\n", "", "MaxWriteRequestUnits"),
        ("DeletionPolicy: Retain", "DeletionPolicy: Delete", "DeletionPolicy"),
    ],
    rules.the_bucket_is_kept_and_private: [
        ("BlockPublicPolicy: true", "BlockPublicPolicy: false", "BlockPublicPolicy"),
        ("BucketOwnerEnforced", "ObjectWriter", "OwnershipControls"),
        ("            ExpirationInDays: 800\n", "", "ExpirationInDays"),
        ("Effect: Deny", "Effect: Allow", "without TLS"),
    ],
    rules.the_page_is_there_if_asked_for_and_never_without_a_sign_in: [
        ('[!Ref WithPage, "true"]\n  HasTopic', '[!Ref WithWeb, "true"]\n  HasTopic', "condition HasPage"),
        ('  WithPage:\n    Type: String\n    Default: "false"', '  WithPage:\n    Type: String\n    Default: "true"',
         "WithPage: Default"),
        ("LayerVersion\n    Condition: HasPage\n", "LayerVersion\n", "HasPage adds "),
        ("[HasPage, [!Ref Page],", "[HasWeb, [!Ref Page],", "Layers"),
        ("/opt/page", "/opt", "DJINN_PAGE"),
        ("Not [!Equals [!Ref Auth, iam]]", "Not [!Equals [!Ref Auth, key]]", "PageCanSignIn asserts"),
        ('    RuleCondition: !Equals [!Ref WithPage, "true"]', '    RuleCondition: !Equals [!Ref WithWeb, "true"]',
         "PageCanSignIn: RuleCondition"),
    ],
    rules.the_sandbox_is_there_if_asked_for: [
        ('[!Ref WithSandbox, "true"]', '[!Ref WithRestApi, "true"]', "condition HasSandbox"),
        ('  WithSandbox:\n    Type: String\n    Default: "false"', '  WithSandbox:\n    Type: String\n    Default: "true"',
         "WithSandbox: Default"),
        ("Logs::LogGroup\n    Condition: HasSandbox\n", "Logs::LogGroup\n", "SandboxLogs: Condition is null"),
        ("  SandboxVpc:\n", "  SandboxNetwork:\n", "SandboxNetwork is in the template"),
        ("Name: sandbox\n      Roles: [", "Name: sandbox\n      Roles: [!Ref ScheduleRole, ", "SandboxPolicy: Roles"),
        ("DJINN_SANDBOX: !If [HasSandbox,", "DJINN_SANDBOX: !If [HasOrigins,", "DJINN_SANDBOX"),
        ("[HasSandbox, !GetAtt SandboxDocuments.Arn,", "[HasSandbox, !GetAtt Sandbox.Arn,", "DJINN_SANDBOX_DOCUMENTS"),
    ],
    rules.the_sandbox_runs_as_it_must: [
        ("Runtime: python3.13", "Runtime: python3.12", "python3.12"),
        ("TenantIsolationMode: PER_TENANT", "TenantIsolationMode: NONE", "TenantIsolationMode"),
        ("WRAPPER: /var/task/sandbox", "WRAPPER: /var/task/sandbox\n          DJINN_TABLE: !Ref Table",
         "Environment.Variables"),
        ("WRAPPER: /var/task/sandbox", "WRAPPER: /opt/other", "Environment.Variables"),
        ("Role: !GetAtt SandboxRole.Arn", "Role: !GetAtt ExecutorRole.Arn", "Sandbox: Role"),
        ("SubnetIds: [!Ref SandboxSubnetA, !Ref SandboxSubnetB]", "SubnetIds: [!Ref SandboxSubnetA]", "SubnetIds"),
        ("[HasToolBound, !Ref ToolConcurrency,", "[HasToolBound, 0,", "ReservedConcurrentExecutions"),
        ("      Handler: code\n", "      Handler: code\n      Layers: [arn]\n", "Layers"),
        ("      Handler: documents\n", "      Handler: code\n", "SandboxDocuments: Handler"),
    ],
    rules.the_sandbox_has_no_right_but_logs: [
        ("- ec2:DescribeSubnets\n", "- ec2:DescribeSubnets\n                  - s3:GetObject\n", "SandboxRole grants"),
        ("Resource: !GetAtt SandboxLogs.Arn", 'Resource: "*"', "more than the sandbox's log"),
        ("Action: ec2:*", "Action: ec2:DescribeSubnets", "its network's rights"),
        ("lambda:SourceFunctionArn:\n", "aws:SourceArn:\n", "its network's rights"),
        ("function:${AWS::StackName}-sandbox", "function:${AWS::StackName}-other", "its network's rights"),
        ("function:${AWS::StackName}-documents\n", "function:${AWS::StackName}-other\n", "its network's rights"),
        ("FunctionName: !Sub ${AWS::StackName}-sandbox", "FunctionName: !Sub ${AWS::StackName}-box", "another name"),
        ("FunctionName: !Sub ${AWS::StackName}-documents", "FunctionName: !Sub ${AWS::StackName}-box",
         "SandboxDocuments has another name"),
        ("runs\n      Roles: [", "runs\n      Roles: [!Ref SandboxRole, ", "RunPolicy grants the sandbox more"),
    ],
    rules.nothing_leads_out_of_the_sandbox: [
        ("EnableDnsSupport: false", "EnableDnsSupport: true", "EnableDnsSupport"),
        ("  Undelivered:\n", "  Way:\n    Type: AWS::EC2::InternetGateway\n\n  Undelivered:\n", "Way leads out"),
        ("RouteTableId: !Ref SandboxRoutes\n      SubnetId: !Ref SandboxSubnetB",
         "RouteTableId: !Ref SandboxRoutes\n      SubnetId: !Ref SandboxSubnetA", "SandboxSubnetB is not routed"),
        ("FromPort: 443", "FromPort: 0", "more than HTTPS"),
        ("      SecurityGroupEgress:\n", "      SecurityGroupIngress: [{}]\n      SecurityGroupEgress:\n", "lets somebody in"),
        ("VpcEndpointType: Gateway", "VpcEndpointType: Interface", "VpcEndpointType"),
        ("${AWS::Region}.s3", "${AWS::Region}.dynamodb", "ServiceName"),
        ("      RouteTableIds: [!Ref SandboxRoutes]\n", "", "SandboxEndpoint: RouteTableIds"),
        ("Action: s3:PutObject\n", "Action: s3:*\n", "SandboxEndpoint leads to"),
        ("Resource: !Sub ${Bucket.Arn}/tenants/*/sandbox/*", "Resource: !Sub ${Bucket.Arn}/*",
         "SandboxEndpoint leads to"),
    ],
    rules.the_web_is_there_if_asked_for: [
        ('[!Ref WithWeb, "true"]', '[!Ref WithSandbox, "true"]', "condition HasWeb"),
        ('  WithWeb:\n    Type: String\n    Default: "false"', '  WithWeb:\n    Type: String\n    Default: "true"',
         "parameter WithWeb: Default"),
        ('  EgressPorts:\n    Type: String\n    Default: ""', '  EgressPorts:\n    Type: String\n    Default: "8080"',
         "parameter EgressPorts: Default"),
        ("  Call:\n    Type: AWS::Lambda::Function\n    Condition: HasWeb\n",
         "  Call:\n    Type: AWS::Lambda::Function\n", "Call is there"),
        ("  CallLogs:\n", "  CallsLogs:\n", "CallsLogs is there"),
        ("[HasWeb, !GetAtt Fetch.Arn,", "[HasSandbox, !GetAtt Fetch.Arn,", "Executor: DJINN_GATEWAY_FETCH"),
        ("[HasWeb, !GetAtt Call.Arn,", "[HasWeb, !GetAtt Fetch.Arn,", "Agent: DJINN_GATEWAY_CALL"),
    ],
    rules.the_web_runs_as_it_must: [
        ("DJINN_GATEWAY_ROLE: fetch", "DJINN_GATEWAY_ROLE: call", "Fetch: Environment.Variables"),
        ("DJINN_GATEWAY_ROLE: call", "DJINN_GATEWAY_ROLE: fetch", "Call: Environment.Variables"),
        ("DJINN_GATEWAY_ROLE: fetch\n", "DJINN_GATEWAY_ROLE: fetch\n          DJINN_CONFIG: !Ref Config\n",
         "Fetch: Environment.Variables"),
        ("          DJINN_CONFIG: !Ref Config\n          DJINN_BUCKET: !Ref Bucket\n", "", "Call: Environment.Variables"),
        ("DJINN_EGRESS_PORTS: !Ref EgressPorts", "DJINN_EGRESS_PORTS: 8080", "Fetch: Environment.Variables"),
        ("Handler: bootstrap\n      Architectures: [arm64]", "Handler: bootstrap\n      Architectures: [x86_64]",
         "Call: Architectures"),
        ("      Timeout: 330\n", "      Timeout: 60\n", "Call: Timeout is 60"),
        ("MemorySize: 512\n", "MemorySize: 128\n", "Fetch: MemorySize"),
        ("      TenancyConfig:\n        TenantIsolationMode: PER_TENANT\n", "", "Call: TenancyConfig"),
        ("Role: !GetAtt FetchRole.Arn\n", "Role: !GetAtt FetchRole.Arn\n      TenancyConfig:\n"
         "        TenantIsolationMode: PER_TENANT\n", "Fetch: TenancyConfig"),
        ("Role: !GetAtt FetchRole.Arn", "Role: !GetAtt CallRole.Arn", "Fetch: Role"),
        ("LogGroup: !Ref CallLogs", "LogGroup: !Ref FetchLogs", "Call: LoggingConfig.LogGroup"),
        ("[HasToolBound, !Ref ToolConcurrency,", "[HasToolBound, 0,", "Fetch: ReservedConcurrentExecutions"),
        ("Binary: gateway", "Binary: agent", "Fetch: BuildProperties.Binary"),
        ("Role: !GetAtt CallRole.Arn\n", "Role: !GetAtt CallRole.Arn\n      VpcConfig: {}\n", "Call has VpcConfig"),
    ],
    rules.the_web_has_no_right_but_logs_keys_and_the_folder: [
        ("Resource: !GetAtt FetchLogs.Arn\n", "Resource: !GetAtt FetchLogs.Arn\n"
         "              - Effect: Allow\n                Action: secretsmanager:GetSecretValue\n"
         "                Resource: arn\n", "FetchRole grants"),
        ("Resource: !GetAtt FetchLogs.Arn", 'Resource: "*"', "FetchRole grants"),
        ("secret:djinn/tools/*", "secret:djinn/*", "CallRole grants"),
        ("Action: s3:GetObject\n                Resource: !Sub ${Bucket.Arn}/config/*",
         "Action: s3:GetObject\n                Resource: !Sub ${Bucket.Arn}/*", "CallRole grants"),
        ("Action: s3:GetObject\n                Resource", "Action: s3:PutObject\n                Resource", "CallRole grants"),
        ("Action: secretsmanager:GetSecretValue\n                Res",
         "Action: secretsmanager:ListSecrets\n                Res", "CallRole grants"),
        ("runs\n      Roles: [", "runs\n      Roles: [!Ref FetchRole, ", "RunPolicy grants Fetch more"),
        ("secrets\n      Roles: [", "secrets\n      Roles: [!Ref CallRole, ", "SecretPolicy grants Call more"),
        ("Role: !GetAtt ExecutorRole.Arn", "Role: !GetAtt CallRole.Arn", "Executor has the role of Call"),
        ("Service: lambda.amazonaws.com", "Service: ec2.amazonaws.com", "CallRole: Principal"),
    ],
    rules.the_drivers_alone_invoke_the_web: [
        ("web\n      Roles: [", "web\n      Roles: [!Ref ScheduleRole, ", "WebPolicy: Roles"),
        ("[!GetAtt Fetch.Arn, !GetAtt Call.Arn]", "!GetAtt Call.Arn", "WebPolicy grants"),
        ("lambda:InvokeFunction\n            Resource: [", "lambda:*\n            Resource: [", "WebPolicy grants"),
        ("FunctionName: !Ref Agent\n      Action: lambda:InvokeFunction\n",
         "FunctionName: !Ref Call\n      Action: lambda:InvokeFunction\n", "PublicInvoke lets others"),
    ],
    rules.the_drivers_alone_invoke_the_database: [
        ("PolicyName: database\n      Roles: [!Ref AgentRole, ", "PolicyName: database\n      Roles: [", "DatabasePolicy: Roles"),
        ("            Resource: !Sub arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:${AWS::StackName}-database",
         '            Resource: "*"', "DatabasePolicy grants"),
        ("DJINN_DATABASE: !Sub", "DJINN_DATABASE: x #", "Agent: Environment.Variables.DJINN_DATABASE"),
    ],
    rules.a_key_of_kms_encrypts_what_is_kept_if_it_is_named: [
        ('  KmsKeyArn:\n    Type: String\n    Default: ""', '  KmsKeyArn:\n    Type: String\n    Default: "arn"',
         "parameter KmsKeyArn: Default"),
        ('[!Equals [!Ref KmsKeyArn, ""]]', '[!Equals [!Ref AlarmTopic, ""]]', "condition HasKmsKey"),
        ("[!Condition HasWeb, !Condition HasKmsKey]", "[!Condition HasWeb, !Condition HasWeb]",
         "condition HasWebAndKmsKey"),
        ("        SSEEnabled: true\n", "        SSEEnabled: false\n", "Table: SSESpecification"),
        ("        KMSMasterKeyId: !If [HasKmsKey, !Ref KmsKeyArn, !Ref AWS::NoValue]\n", "", "Table: SSESpecification"),
        ("[HasKmsKey, aws:kms, AES256]", "[HasTopic, aws:kms, AES256]", "Bucket: BucketEncryption"),
        ("            BucketKeyEnabled: !If [HasKmsKey, true, !Ref AWS::NoValue]\n", "", "Bucket: BucketEncryption"),
        ("RetentionInDays: !Ref LogDays\n      KmsKeyId: !If [HasKmsKey, !Ref KmsKeyArn, !Ref AWS::NoValue]\n",
         "RetentionInDays: !Ref LogDays\n", "ExecutorLogs: KmsKeyId is null"),
        ("      KmsKeyId: !If [HasKmsKey, !Ref KmsKeyArn, !Ref AWS::NoValue]\n      Generate", "      Generate",
         "LinkKeySecret: KmsKeyId is null"),
    ],
    rules.the_key_of_kms_is_used_for_what_is_kept_alone: [
        ("Policy\n    Condition: HasKmsKey\n", "Policy\n", "KmsPolicy: Condition is null"),
        ("    Condition: HasWebAndKmsKey\n", "    Condition: HasWeb\n", "CallKmsPolicy: Condition"),
        ("PolicyName: kms\n      Roles: [", "PolicyName: kms\n      Roles: [!Ref ScheduleRole, ", "KmsPolicy: Roles"),
        ("- kms:DescribeKey", "- kms:CreateGrant", "KmsPolicy grants"),
        ("Resource: !Ref KmsKeyArn", 'Resource: "*"', "KmsPolicy grants"),
        ("                  - !Sub s3.${AWS::Region}.${AWS::URLSuffix}\n", "", "KmsPolicy lets the key be used through"),
        ("kms:ViaService:\n                  - !Sub s3", "kms:ViaService:\n                  - !Sub lambda",
         "CallKmsPolicy lets the key be used"),
        ("Action: sqs:SendMessage", "Action: [sqs:SendMessage, kms:Decrypt]", "undelivered grants a right to keys"),
    ],
}


def missed(source: str) -> list[str]:
    """Returns a sentence for each breakage that its checker misses, and for each rule without a breakage."""
    found = []
    for checker, breakages in BREAKAGES.items():
        for old, new, expected in breakages:
            if old not in source:
                found.append(f"breakages.py: `{old}` is not in the template any more")
                continue
            said = list(checker(transform(source.replace(old, new))))
            if not any(expected in sentence for sentence in said):
                name = checker.__name__
                found.append(f"{name} says {said} of `{new}` for `{old}`, not `{expected}`")
    for rule in rules.RULES:
        if rule not in BREAKAGES:
            found.append(f"breakages.py: nothing shows that {rule.__name__} can fail")
    return found


def main(path: str) -> int:
    found = missed(Path(path).read_text(encoding="utf-8"))
    for sentence in found:
        print(sentence)
    if not found:
        count = sum(map(len, BREAKAGES.values()))
        print(f"{len(rules.RULES)} rules, and all of {count} breakages are noticed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
