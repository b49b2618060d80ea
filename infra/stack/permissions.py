"""Reports the permissions that the stories used, and the statements of policies that no story used.

    python infra/stack/permissions.py FOLDER

`FOLDER` is the emulator's, see emulator.py. Fails on a denial, on an unused statement without a reason in
unused_statements.toml, and on a reason for a statement that is used or does not exist.
"""

import json
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

from deploy import client

REASONS = Path(__file__).with_name("unused_statements.toml")


def statements(iam, role):
    """Returns the names of the statements of a role's policies with their actions: `policy/Sid`, or the number of the
    statement instead of a missing Sid, counted from 0."""
    found = {}
    for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
        document = json.loads(document) if isinstance(document, str) else document
        for number, statement in enumerate(document["Statement"]):
            actions = statement["Action"]
            found[f"{policy}/{statement.get('Sid') or number}"] = [actions] if isinstance(actions, str) else actions
    return found


def main(folder):
    folder = Path(folder)
    stack = json.loads((folder / "stack.json").read_text())
    decisions = [json.loads(line) for line in (folder / "decisions.jsonl").read_text().splitlines()]
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    roles = {name: role for name, role in stack["resources"].items() if name.endswith("Role")}
    iam = client(stack["endpoint"], "iam")
    used = defaultdict(lambda: defaultdict(set))
    faults = []
    for decision in decisions:
        name = next((name for name, role in roles.items() if role == decision["role"]), None)
        if name and decision["allowed"]:
            used[name][decision["statement"]].add(decision["action"])
        elif name:
            faults.append(f"{name} was denied {decision['action']} on {decision['resource']}")
    for name, role in sorted(roles.items()):
        print(f"    {name}:")
        granted = statements(iam, role)
        for statement, actions in granted.items():
            without = sorted(set(actions) - used[name][statement])
            if used[name][statement]:
                unused = f"; not used: {', '.join(without)}" if without else ""
                print(f"        {statement}: {', '.join(sorted(used[name][statement]))}{unused}")
            elif statement not in reasons.get(name, {}):
                faults.append(f"no story uses {statement} of {name}: {', '.join(actions)}")
            else:
                print(f"        {statement}: no story; {reasons[name][statement]}")
        for statement in reasons.get(name, {}):
            if used[name][statement] or statement not in granted:
                faults.append(f"unused_statements.toml: {name} {statement} is used, or does not exist")
    faults += [f"unused_statements.toml: there is no {name}" for name in sorted(set(reasons) - set(roles))]
    for fault in dict.fromkeys(faults):
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
