"""Facts that the tree of a query shows: each result column, and the filters. What it does not show is left out."""

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import build_scope

_AGGREGATES = {exp.Sum: "sum", exp.Avg: "avg", exp.Count: "count", exp.Min: "min", exp.Max: "max", exp.Median: "median"}
_OPERATORS = {exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.Like: "like",
              exp.ILike: "ilike"}
_TURNED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
# Functions that keep the meaning of their first argument.
_WRAPPERS = (exp.Alias, exp.Paren, exp.Cast, exp.TryCast, exp.Round, exp.Coalesce, exp.Ordered)
_PARTS_OF_TIME = (exp.TimestampTrunc, exp.DateTrunc, exp.TimeToStr, exp.Year, exp.Month, exp.Quarter, exp.Week, exp.Day,
                  exp.Extract)
_MAX_VALUES = 20


class QueryFacts:
    """Facts of a query: `columns`, one object for each result column or None if unknown, `filters`, and `scope`, the
    scope of the qualified tree.

    A column's object may have `table` and `column`, `aggregate`, `order` (`asc`, `desc`), and `role` (`dimension`,
    `measure`). A filter has `table`, `column`, `operator` and `values`.
    """

    def __init__(self, tree, tables, dialect="duckdb"):
        self.columns, self.filters, self.scope = None, [], None
        schema = {table["name"]: {column["name"]: column["type"] for column in table["columns"]} for table in tables}
        try:
            qualified = qualify(tree.copy(), dialect=dialect, schema=schema, validate_qualify_columns=False,
                                quote_identifiers=False)
            self.scope = build_scope(qualified)
        except (SqlglotError, RecursionError, KeyError, ValueError):
            return
        if self.scope is None:
            return
        self._names = _exact_names(tables)
        self.columns = self._find_columns(qualified)
        for scope in self.scope.traverse():
            self.filters += self._find_filters(scope)

    def _find_columns(self, tree):
        scope = self.scope
        while scope.set_operation_scopes:
            scope = scope.set_operation_scopes[0]
        if not isinstance(scope.expression, exp.Select):
            return None
        columns = [self._trace(select, scope) for select in scope.expression.selects]
        are_measures = [fact.pop("is_measure", False) or "aggregate" in fact for fact in columns]
        if any(are_measures) or scope.expression.args.get("group"):
            for fact, is_measure in zip(columns, are_measures):
                fact["role"] = "measure" if is_measure else "dimension"
        _add_order(tree, scope.expression, columns)
        return columns

    def _trace(self, node, scope):
        """Returns the facts of an expression, through aliases and queries inside of queries."""
        while isinstance(node, _WRAPPERS):
            node = node.this
        if isinstance(node, exp.Column):
            return self._trace_column(node, scope)
        aggregate = next((name for kind, name in _AGGREGATES.items() if type(node) is kind), None)
        if aggregate:
            inside = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
            source = self._trace(inside, scope) if isinstance(inside, exp.Column) else {}
            # A sum of counts is no sum of the column that was counted.
            is_count = source.get("aggregate", "").startswith("count")
            fact = {key: source[key] for key in ("table", "column") if key in source and not is_count}
            return fact | {"aggregate": f"{aggregate}_distinct" if isinstance(node.this, exp.Distinct) else aggregate}
        if isinstance(node, _PARTS_OF_TIME):
            columns = list(node.find_all(exp.Column))
            return self._trace_column(columns[0], scope) if len(columns) == 1 else {}
        if node.find(exp.AggFunc) or any("aggregate" in self._trace_column(column, scope)
                                         for column in node.find_all(exp.Column)):
            return {"is_measure": True}
        return {}

    def _trace_column(self, column, scope):
        source = scope.sources.get(column.table)
        if isinstance(source, exp.Table):
            table = self._names.get(source.name.casefold())
            return {"table": table[0], "column": table[1].get(column.name.casefold(), column.name)} if table else {}
        if source is None or not isinstance(source.expression, exp.Query):
            return {}
        inner = source
        while inner.set_operation_scopes:
            inner = inner.set_operation_scopes[0]
        found = [select for select in inner.expression.selects if select.alias_or_name == column.name]
        return self._trace(found[0], inner) if len(found) == 1 and inner is not scope else {}

    def _find_filters(self, scope):
        filters = []
        clause = scope.expression.args.get("where")
        for part in split_conjuncts(clause.this) if clause else []:
            found = _read_filter(part)
            if found is None:
                continue
            column, operator, values = found
            fact = self._trace_column(column, scope)
            if "column" in fact and "aggregate" not in fact:
                filters.append({**fact, "operator": operator, "values": values[:_MAX_VALUES]})
        return filters


def _exact_names(tables):
    """Returns the names of tables and columns as they are written, by their folded forms."""
    return {table["name"].casefold(): (table["name"], {column["name"].casefold(): column["name"]
                                                       for column in table["columns"]}) for table in tables}


def split_conjuncts(node):
    """Returns the parts of a condition that must all be true."""
    while isinstance(node, exp.Paren):
        node = node.this
    return [*split_conjuncts(node.left), *split_conjuncts(node.right)] if isinstance(node, exp.And) else [node]


def _read_filter(node):
    """Returns the column, the operator and the values of a simple condition, or None."""
    if isinstance(node, exp.Between) and isinstance(node.this, exp.Column):
        values = [_value(node.args["low"]), _value(node.args["high"])]
        return None if None in values else (node.this, "between", values)
    if isinstance(node, exp.In) and isinstance(node.this, exp.Column) and node.expressions:
        values = [_value(item) for item in node.expressions]
        return None if None in values else (node.this, "in", values)
    operator = _OPERATORS.get(type(node))
    if operator is None:
        return None
    left, right = node.left, node.right
    if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
        left, right, operator = right, left, _TURNED.get(operator, operator)
    value = _value(right)
    return (left, operator, [value]) if isinstance(left, exp.Column) and value is not None else None


def _value(node):
    while isinstance(node, (exp.Cast, exp.Paren)):
        node = node.this
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return f"-{node.this.name}"
    if isinstance(node, exp.Boolean):
        return f"{node.this}".lower()
    return node.name if isinstance(node, exp.Literal) else None


def _add_order(tree, select, columns):
    order = tree.args.get("order") if isinstance(tree, exp.Query) else None
    names = [expression.alias_or_name for expression in select.selects]
    for ordered in order.expressions if order else []:
        key, place = ordered.this, None
        if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.name) <= len(columns):
            place = int(key.name) - 1
        elif isinstance(key, exp.Column) and names.count(key.name) == 1:
            place = names.index(key.name)
        else:
            same = [at for at, expression in enumerate(select.selects) if expression.unalias() == key]
            place = same[0] if len(same) == 1 else None
        if place is not None:
            columns[place]["order"] = "desc" if ordered.args.get("desc") else "asc"
