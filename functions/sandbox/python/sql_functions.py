"""The functions that a query may call."""

# Classes of sqlglot, one for each function that it knows under its names in DuckDB.
KNOWN = frozenset("""
Abs Acos Acosh AddMonths And AnyValue ApproxDistinct ApproxQuantile ApproxTopK ArgMax ArgMin Array ArrayAgg ArrayAll
ArrayAny ArrayAppend ArrayConcat ArrayContains ArrayContainsAll ArrayDistinct ArrayExcept ArrayFilter ArrayFirst
ArrayIntersect ArrayLast ArrayMax ArrayMin ArrayOverlaps ArrayPosition ArrayPrepend ArrayReverse ArraySize ArraySlice
ArraySort ArraySum ArrayToString ArrayUniqueAgg ArraysZip Ascii Asin Asinh Atan Atan2 Atanh Avg BitwiseAndAgg
BitwiseCount BitwiseOrAgg BitwiseXorAgg Case Cast Cbrt Ceil Chr Coalesce Columns Concat ConcatWs Contains Corr Cos
Cosh Cot Count CountIf CovarPop CovarSamp CumeDist CurrentDate CurrentTime CurrentTimestamp Date DateAdd DateBin
DateDiff DateFromParts DateStrToDate DateSub DateTrunc Datetime DatetimeAdd DatetimeDiff DatetimeSub DatetimeTrunc Day
DayOfMonth DayOfWeek DayOfWeekIso DayOfYear Dayname Degrees DenseRank EndsWith Exists Exp Explode Extract Factorial
First FirstValue Flatten Floor Format GenerateDateArray GenerateSeries Greatest GroupConcat Grouping GroupingId Hour
If Initcap IsInf IsNan JSONArray JSONArrayContains JSONExists JSONExtract JSONExtractArray JSONExtractScalar JSONKeys
JSONObject JSONType JarowinklerSimilarity Kurtosis Lag Last LastDay LastValue Lead Least Left Length Levenshtein List
Ln Localtime Localtimestamp Log LogicalAnd LogicalOr Lower MD5 MakeInterval Map MapFromEntries MapKeys MapSize Max
Median Min Minute Mode Month Monthname MonthsBetween Negative NthValue Ntile Nullif NumberToStr Or Pad PercentRank
PercentileCont PercentileDisc Pi Pow Quantile Quarter Radians Rank RegexpCount RegexpExtract RegexpExtractAll
RegexpFullMatch RegexpILike RegexpInstr RegexpLike RegexpReplace RegexpSplit RegexpSubstr RegrAvgx RegrAvgy RegrCount
RegrIntercept RegrR2 RegrSlope RegrSxx RegrSxy RegrSyy Repeat Replace Reverse Right Round RowNumber SafeDivide Second
Sign Sin Sinh Skewness Space Split SplitPart Sqrt StartsWith Stddev StddevPop StddevSamp StrPosition StrToDate
StrToTime StrToUnix String StringToArray Struct StructExtract Stuff Substring Sum Tan Tanh Time TimeAdd TimeDiff
TimeFromParts TimeStrToDate TimeStrToTime TimeSub TimeToStr TimeToUnix TimeTrunc Timestamp TimestampAdd TimestampDiff
TimestampFromParts TimestampSub TimestampTrunc ToChar ToDays ToNumber Transform Translate Trim Trunc Try TryCast
TsOrDsAdd TsOrDsDiff TsOrDsToDate TsOrDsToDateStr TsOrDsToTime TsOrDsToTimestamp Typeof Unicode UnixDate UnixMillis
UnixSeconds UnixToStr UnixToTime Unnest Upper Variance VariancePop Week WeekOfYear WidthBucket Xor Year YearOfWeek
YearOfWeekIso
""".split())

# Functions that sqlglot does not know, as they are written.
OTHERS = frozenset("""
add age any_value arbitrary bar bit_count bool_and bool_or ceiling century chr contains_all count_star cot
current_localtime current_localtimestamp damerau_levenshtein date_add date_diff date_part date_sub date_trunc datepart
datesub datetrunc dayofmonth dayofweek dayofyear decade divide element_at entropy enum_range epoch epoch_ms epoch_ns
epoch_us era even fdiv favg fmod fsum gamma gcd greatest_common_divisor group_concat hamming hash histogram
histogram_exact instr isfinite isodow isoyear jaccard jaro_similarity json_array_length json_contains json_type
json_value julian kahan_sum kurtosis_pop lcase lcm least_common_multiple len lgamma list_aggr list_aggregate
list_any_value list_apply list_append list_avg list_cat list_concat list_contains list_count list_distinct
list_element list_extract list_filter list_first list_has list_has_all list_has_any list_histogram list_indexof
list_last list_max list_median list_min list_pack list_position list_prepend list_reduce list_resize list_reverse
list_reverse_sort list_select list_slice list_sort list_sum list_transform list_unique list_value list_where list_zip
listagg log10 log2 mad make_date make_time make_timestamp map_contains map_entries map_extract map_values mean
microsecond millennium millisecond mod multiply nextafter nfc_normalize prefix printf product quantile_cont
quantile_disc range regexp_escape regexp_extract_all regexp_matches regexp_split_to_array reservoir_quantile
row_number sem sha256 signbit stddev_pop stddev_samp str_split str_split_regex strftime string_split
string_split_regex strip_accents strlen strptime struct_pack subtract suffix sum_no_overflow time_bucket timezone
to_base to_centuries to_days to_decades to_hours to_microseconds to_millennia to_milliseconds to_minutes to_months
to_seconds to_timestamp to_weeks to_years today try_strptime ucase union_tag union_value var_pop var_samp weekday
weekofyear weighted_avg xor year yearweek
""".split())

# Functions that may stand in place of a table.
TABLES = frozenset(("Unnest", "GenerateSeries", "Explode", "range", "generate_series", "unnest"))
