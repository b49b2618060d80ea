"""Makes services of the emulator use the roles that AWS makes them use.

The emulator enforces the permissions of callers only. On AWS, a service that acts for a customer needs the permission
of a role too: Scheduler to invoke a target, Lambda to write logs and to send failed events to a queue. To name a
role in a schedule, the caller needs `iam:PassRole`. known_errors.py has a check for each.
"""

import json

from ministack.core import iam_evaluator
from ministack.core.responses import get_account_id, get_region
from ministack.core.router import extract_access_key_id
from ministack.services import cloudwatch_logs, eventbridge, lambda_svc, scheduler

DENIED = 403, {"Content-Type": "application/json", "x-amzn-errortype": "AccessDeniedException"}, json.dumps(
    {"__type": "AccessDeniedException", "Message": "the caller may not pass this role to Scheduler"}).encode()


def is_allowed(role_arn, action, resource, service):
    """Returns the decision about a request of a service with a role. emulator.py records the decision."""
    role, account = role_arn.rsplit("/", 1)[-1], get_account_id()
    context = iam_evaluator.EvalContext(
        principal_arn=f"arn:aws:sts::{account}:assumed-role/{role}/{service}",
        principal_type="AssumedRole",
        principal_account=account,
        action=action,
        resource_arn=resource,
        region=get_region(),
    )
    return iam_evaluator.decide(context, iam_evaluator._gather_role_policies(role, account))


def check_passed_roles():
    """Makes requests that put a role into a schedule need `iam:PassRole`."""
    handle = scheduler.handle_request

    async def handle_request(method, path, headers, body, query_params):
        if method in ("POST", "PUT") and path.startswith("/schedules/"):
            role = json.loads(body or b"{}").get("Target", {}).get("RoleArn", "")
            context = {"iam:PassedToService": "scheduler.amazonaws.com"}
            key = extract_access_key_id(headers, query_params)
            if iam_evaluator.enforce(key, "iam:PassRole", "iam", get_region(), role, context):
                return DENIED
        return await handle(method, path, headers, body, query_params)

    scheduler.handle_request = handle_request


def invoke_targets_with_roles():
    """Makes Scheduler invoke a function only with a role that may."""
    invoke = eventbridge._invoke_target

    def invoke_target(target, event, rule, view=None):
        role = target.get("RoleArn")
        if "ScheduleExpressionTimezone" in rule and ":function:" in target["Arn"]:
            if not is_allowed(role, "lambda:InvokeFunction", target["Arn"], "scheduler"):
                return
        invoke(target, event, rule, view)

    eventbridge._invoke_target = invoke_target


def write_logs_with_roles():
    """Makes Lambda write the logs of a function only with a role that may."""
    emit = lambda_svc._emit_lambda_logs

    def emit_lambda_logs(func, *arguments, **options):
        config = func.get("config") or func
        group = (config.get("LoggingConfig") or {}).get("LogGroup") or f"/aws/lambda/{config['FunctionName']}"
        # Policies name a group as in `GetAtt`, with `:*`.
        resource = f"{cloudwatch_logs._make_group_arn(group).removesuffix(':*')}:*"
        actions = ("logs:CreateLogStream", "logs:PutLogEvents")
        if all([is_allowed(config["Role"], action, resource, "lambda") for action in actions]):
            emit(func, *arguments, **options)

    lambda_svc._emit_lambda_logs = emit_lambda_logs


def send_failed_events_with_roles():
    """Makes Lambda send a failed event to a queue only with a role that may."""
    route = lambda_svc._route_async_failure

    def route_async_failure(target_arn, func_name, event, result):
        role = lambda_svc._functions[func_name]["config"]["Role"]
        if ":sqs:" not in target_arn or is_allowed(role, "sqs:SendMessage", target_arn, "lambda"):
            route(target_arn, func_name, event, result)

    lambda_svc._route_async_failure = route_async_failure


CORRECTIONS = (
    check_passed_roles,
    invoke_targets_with_roles,
    write_logs_with_roles,
    send_failed_events_with_roles,
)
