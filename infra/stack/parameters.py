"""Creates stacks in the emulator with each parameter of the template at both ends of its range, and tries each
parameter just outside. The table follows from the template: a new parameter needs no line here.

    python infra/stack/parameters.py FOLDER template.yaml

`FOLDER` is the emulator's, see emulator.py. Prints a sentence for each end that is rejected, and for each value
outside that is accepted.
"""

import re
import re._constants as regex
import re._parser
import sys
from pathlib import Path

from variants import Account, deleted, template

# Characters for values that match a pattern, in order of preference.
ALPHABET = "a1x./:-_"

# Changes that make a value violate a pattern.
SPOILS = (lambda text: text + "*", lambda text: text + " ", lambda text: text + "x", lambda text: "x" + text)

# The repetitions of a part without a maximum, in the longest value.
REPEATS = 8


def matching(pattern, longest):
    """Returns a short or long value that matches a regular expression."""
    text = "".join(pieces(re._parser.parse(pattern), longest))
    assert re.fullmatch(pattern, text), f"no value for {pattern}: {text}"
    return text


def pieces(nodes, longest):
    for kind, argument in nodes:
        if kind is regex.LITERAL:
            yield chr(argument)
        elif kind is regex.IN:
            yield next(char for char in candidates(argument) if re.fullmatch(class_of(argument), char))
        elif kind is regex.ANY:
            yield ALPHABET[0]
        elif kind is regex.SUBPATTERN:
            yield from pieces(argument[3], longest)
        elif kind is regex.MAX_REPEAT:
            low, high, part = argument
            for _ in range(min(high, low + REPEATS) if longest else low):
                yield from pieces(part, longest)
        elif kind is not regex.AT:
            raise ValueError(f"no value for a pattern with {kind}")


def candidates(members):
    """Yields the alphabet, and then the first character of each range of a class."""
    yield from ALPHABET
    for kind, argument in members:
        if kind is regex.LITERAL:
            yield chr(argument)
        elif kind is regex.RANGE:
            yield chr(argument[0])


def class_of(members):
    """Returns a class of characters as a regular expression."""
    text = ""
    for kind, argument in members:
        if kind is regex.NEGATE:
            text += "^"
        elif kind is regex.LITERAL:
            text += re.escape(chr(argument))
        elif kind is regex.RANGE:
            text += f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
        elif kind is regex.CATEGORY:
            text += {regex.CATEGORY_SPACE: r"\s", regex.CATEGORY_NOT_SPACE: r"\S"}[argument]
    return f"[{text}]"


def inside(parameter):
    """Returns the values to accept, from the lower to the upper end."""
    if "AllowedValues" in parameter:
        return [str(value) for value in parameter["AllowedValues"]]
    if "MinValue" in parameter:
        return [str(parameter["MinValue"]), str(parameter.get("MaxValue", parameter["MinValue"] + 1))]
    if "AllowedPattern" in parameter:
        return [matching(parameter["AllowedPattern"], longest) for longest in (False, True)]
    if "MinLength" in parameter or "MaxLength" in parameter:
        low = parameter.get("MinLength", 0)
        return ["x" * low, "x" * parameter.get("MaxLength", low + 1)]
    return []


def outside(parameter):
    """Returns the values to reject, just below and above the range."""
    found = []
    if "AllowedValues" in parameter:
        found.append(f"{parameter['AllowedValues'][-1]}0")
    if "MinValue" in parameter:
        found.append(str(parameter["MinValue"] - 1))
    if "MaxValue" in parameter:
        found.append(str(parameter["MaxValue"] + 1))
    if parameter.get("MinLength"):
        found.append("x" * (parameter["MinLength"] - 1))
    if "MaxLength" in parameter:
        found.append("x" * (parameter["MaxLength"] + 1))
    if "AllowedPattern" in parameter:
        pattern = parameter["AllowedPattern"]
        spoiled = [spoil(matching(pattern, True)) for spoil in SPOILS]
        found += [text for text in spoiled if not re.fullmatch(pattern, text)][:1]
    return found


def main(folder, source):
    account = Account((Path(folder) / "endpoint").read_text())
    packaged = template(Path(source).read_text(encoding="utf-8"))
    parameters = packaged["Parameters"]
    accepted = {name: inside(parameter) for name, parameter in parameters.items()}
    rejected = [(name, value) for name, parameter in parameters.items() for value in outside(parameter)]
    # With the default of Auth.
    rejected.append(("WithPage", "true"))
    faults = []
    columns = max(map(len, accepted.values()))
    for column in range(columns):
        # The lower ends, the upper ends, and further allowed values.
        order = (0, -1, *range(1, columns - 1))[column]
        values = {name: ends[order] for name, ends in accepted.items() if -len(ends) <= order < len(ends)}
        before = account.resources()
        stack = f"range{column}"
        failure = account.change("create_stack", stack, packaged, values)
        if failure:
            faults.append(f"the values at {order} of the ranges are rejected: {failure}")
            continue
        faults += [f"the values at {order} of the ranges: {fault}" for fault in deleted(account, stack, before)]
    for number, (name, value) in enumerate(rejected):
        failure = account.change("create_stack", f"outside{number}", packaged, {name: value})
        if failure is None:
            faults.append(f"the parameter {name} may be {value[:40]!r}")
        elif name not in failure:
            faults.append(f"the error for {name} = {value[:40]!r} does not name the parameter: {failure}")
    for fault in faults:
        print(fault)
    if faults:
        return 1
    free = sorted(name for name, values in accepted.items() if not values)
    print(f"    {len(accepted) - len(free)} parameters at both ends of their ranges, {len(rejected)} values outside "
          f"rejected, {len(free)} parameters without a range: {', '.join(free)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
