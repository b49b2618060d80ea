"""The parts that a query over PostgreSQL may have."""

from sqlglot import exp

# Kinds of nodes besides functions, by sqlglot's names.
NODES = frozenset("""
Add Alias Aliases All And Any Array AtTimeZone Between Boolean Bracket BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CTE
Case Cast Column ColumnDef Cube DPipe DataType DataTypeParam Distinct Div EQ Escape Except Exists Fetch Filter From GT GTE Group
GroupingSets Having ILike Identifier If In IntDiv Intersect Interval IntervalSpan Is Join LT LTE Lateral Like Limit LimitOptions Literal Mod Mul NEQ
Neg Not Null NullSafeEQ NullSafeNEQ Offset Or Order Ordered Paren Rollup Select SimilarTo Slice Star Sub Subquery Table
TableAlias Tuple Union Values Var Where Window WindowSpec With WithinGroup RegexpLike RegexpILike JSONExtract
JSONExtractScalar JSONPath JSONPathRoot JSONPathKey JSONPathSubscript Kwarg
""".split())

# Types of casts.
TYPES = frozenset(getattr(exp.DataType.Type, name) for name in (
    "ARRAY", "BIGINT", "BOOLEAN", "CHAR", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT", "INTERVAL", "JSON", "JSONB",
    "SMALLINT", "TEXT", "TIME", "TIMETZ", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "UUID", "VARCHAR"))

# Functions, as PostgreSQL names them: each depends on its arguments alone, or on the clock.
FUNCTIONS = frozenset("""
abs acos age any_value array_agg array_append array_cat array_length array_lower array_position array_positions
array_prepend array_remove array_replace array_to_string array_upper ascii asin atan atan2 avg bit_and bit_length
bit_or bit_xor bool_and bool_or btrim cardinality cbrt ceil ceiling char_length character_length chr coalesce concat
concat_ws corr cos cot count covar_pop covar_samp cume_dist current_date current_time current_timestamp date date_add
date_part date_subtract date_trunc degrees dense_rank div every exp extract factorial first_value floor format
gcd generate_series greatest grouping initcap isfinite json_agg json_array_length json_build_object json_extract_path
json_extract_path_text json_object_agg jsonb_agg jsonb_array_length jsonb_build_object jsonb_extract_path
jsonb_extract_path_text jsonb_object_agg justify_days justify_hours justify_interval lag last_value lead least left
length ln localtime localtimestamp log log10 lower lpad ltrim make_date make_interval make_time make_timestamp max md5
min mod mode now nth_value ntile nullif num_nonnulls num_nulls octet_length overlay percent_rank percentile_cont
percentile_disc pi position pow power radians random rank regexp_count regexp_instr regexp_like regexp_match
regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr regr_avgx regr_avgy regr_count
regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right round row_number rpad rtrim
scale sign sin split_part sqrt starts_with stddev stddev_pop stddev_samp string_agg string_to_array strpos substr
substring sum tan timezone to_char to_date to_json to_jsonb to_number to_timestamp translate trim trim_scale trunc
unnest upper var_pop var_samp variance width_bucket
""".split())

# Words of SQL that may stand before a parenthesis.
WORDS = frozenset("""
all and any array as between bigint boolean by case cast char character cross cube date decimal distinct double else escape except exists
fetch filter first float from full group having ilike in inner int integer intersect interval is join lateral left like limit
materialized natural next not null nulls numeric of offset on or order outer over partition precision real right rollup
row rows select sets similar smallint some text then time timestamp timestamptz to union using values varchar when
where with within year grouping varying
""".split()) | {"grouping sets"}
