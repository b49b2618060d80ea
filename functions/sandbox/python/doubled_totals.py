"""Totals over rows that a join repeats: a sum then counts some rows several times, and is wrong without an error."""

from sqlglot import exp

_TOTALS = (exp.Sum, exp.Avg, exp.Count)


class DoubledTotal:
    """A total over `table`, whose rows the join with `joined` repeats, because several rows of it have the same
    `keys`."""

    def __init__(self, total, table, joined, keys):
        self.total, self.table, self.joined, self.keys = total, table, joined, keys


def find_doubled_total(scope, is_unique):
    """Returns the first `DoubledTotal` of a query, or None. `scope` is sqlglot's scope of the qualified tree.

    `is_unique` receives the name of a table and the names of columns, and returns true if no two rows have the same
    values in them.
    """
    for inner in scope.traverse():
        if isinstance(inner.expression, exp.Select) and inner.expression.args.get("joins"):
            found = _check_select(inner, is_unique)
            if found is not None:
                return found
    return None


def _check_select(scope, is_unique):
    select = scope.expression
    sources = {name: source for name, (_, source) in scope.selected_sources.items()}
    keys = _join_keys(scope, sources)
    repeating = [name for name, columns in keys.items() if not _has_one_row(sources[name], columns, is_unique)]
    # Rows of these tables only select others.
    selecting = {join.alias_or_name for join in select.args["joins"] if (join.args.get("kind") or "").upper() in (
        "SEMI", "ANTI") or (join.args.get("side") or "").upper() in ("SEMI", "ANTI")}
    for total in select.find_all(*_TOTALS):
        if total.find_ancestor(exp.Select) is not select or isinstance(total.this, exp.Distinct):
            continue
        if isinstance(total.parent, exp.Window):
            continue
        tables = {column.table for column in total.find_all(exp.Column)}
        if "" in tables:
            # A column that no table has: the engine says so.
            continue
        for name in repeating:
            if tables and name not in tables and name not in selecting:
                table = sorted(tables)[0]
                return DoubledTotal(total.sql("duckdb"), _name(sources.get(table), table), _name(sources[name], name),
                                    sorted(keys[name]))
    return None


def _name(source, alias):
    return source.name if isinstance(source, exp.Table) else alias


def _join_keys(scope, sources):
    """Returns the columns of each source that must equal a column of another."""
    select = scope.expression
    conditions = [join.args["on"] for join in select.args["joins"] if join.args.get("on")]
    conditions += [select.args["where"].this] if select.args.get("where") else []
    keys = {name: set() for name in sources}
    for condition in conditions:
        for table, column, _ in _find_equal(condition):
            keys.setdefault(table, set()).add(column)
    return {name: columns for name, columns in keys.items() if name in sources}


def _find_equal(condition):
    """Returns the columns that a condition sets equal to a column of another table or to a fixed value, as the table,
    the column, and the other side. Of alternatives, each must set a column equal to the same."""
    while isinstance(condition, exp.Paren):
        condition = condition.this
    if isinstance(condition, exp.And):
        return _find_equal(condition.left) | _find_equal(condition.right)
    if isinstance(condition, exp.Or):
        return _find_equal(condition.left) & _find_equal(condition.right)
    if not isinstance(condition, exp.EQ):
        return set()
    sides = [(condition.left, condition.right), (condition.right, condition.left)]
    sides = [(side, other) for side, other in sides if isinstance(side, exp.Column)]
    if len(sides) == 2 and sides[0][0].table == sides[1][0].table:
        return set()
    if len(sides) == 1 and sides[0][1].find(exp.Column):
        return set()
    return {(side.table, side.name, other.sql("duckdb")) for side, other in sides}


def _has_one_row(source, columns, is_unique):
    """Returns true if at most one row of a source has the same values in these columns."""
    if isinstance(source, exp.Table):
        return bool(columns) and is_unique(source.name, sorted(columns))
    inner = source.expression
    if not isinstance(inner, exp.Select):
        return False
    if inner.args.get("distinct"):
        return {select.alias_or_name for select in inner.selects} <= columns
    group = inner.args.get("group")
    if group is None:
        # Without groups, an aggregate has one row.
        return any(select.find(exp.AggFunc) and not select.find(exp.Window) for select in inner.selects)
    grouped = {key.sql("duckdb") for key in group.expressions}
    names = {select.alias_or_name for select in inner.selects
             if select.unalias().sql("duckdb") in grouped}
    return len(names) == len(grouped) and names <= columns
