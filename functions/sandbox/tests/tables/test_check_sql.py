"""The check of queries, and hostile statements: by the check, by the form of the query, and by the engine alone."""

import os
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import duckdb
from check_sql import SqlError, check_sql
from engine import lock_engine, open_engine
from run_queries import run_queries

TABLES = ["orders", "客户"]

GOOD = [
    "SELECT * FROM orders", "select a from ORDERS;", "FROM orders", "TABLE orders", "VALUES (1, 'x')",
    'SELECT "地区", sum(a) FROM 客户 GROUP BY ALL', "SELECT 1 -- a comment", "/* a */ SELECT 1",
    "WITH x AS (SELECT * FROM orders) SELECT * FROM X", "SELECT * FROM (SELECT a FROM orders) AS o",
    "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t",
    "SELECT a FROM orders UNION ALL SELECT a FROM 客户", "SELECT * FROM orders o JOIN 客户 k ON o.id = k.id",
    "SELECT strftime(d, '%Y-%m'), date_trunc('month', d), date_part('year', d), year(d), extract(month FROM d) FROM orders",
    "SELECT count(*) FILTER (WHERE a > 1), median(a), quantile_cont(a, 0.5), string_agg(a, ','), arg_max(a, b) FROM orders",
    "SELECT row_number() OVER (PARTITION BY a ORDER BY b) AS n, lag(b) OVER (ORDER BY c) FROM orders QUALIFY n = 1",
    "SELECT * EXCLUDE (a) FROM orders", "SELECT CASE WHEN a THEN 1 END, a::INTEGER, try_cast(a AS DATE), a // 2 FROM orders",
    "SELECT * FROM unnest([1, 2])", "SELECT * FROM range(3)", "SELECT a FROM orders WHERE a ILIKE '%x%' AND b IN (1, 2)",
    "SELECT 'DROP TABLE orders; --' AS text", "SELECT a AS \"insert into\" FROM orders",
    "SELECT coalesce(a, 0), round(avg(b), 2), current_date, today(), epoch_ms(5), list_sum([1]) FROM orders",
]

# Hostile and wrong statements, with the code of the error.
HOSTILE = [
    ("", "empty"), ("  ", "empty"), ("-- nothing", "empty"), (";", "empty"), ("SELECT 1\0", "syntax"),
    ("SELECT 1; SELECT 2", "not_one_query"), ("SELECT 1; DROP TABLE orders", "not_one_query"),
    ("SELECT 1) AS x; DROP TABLE orders; SELECT (1", "syntax"), ("SELECT 1) AS a, (SELECT 2", "syntax"),
    ("SELECT 1 /* ; */ ; /* */ DELETE FROM orders", "not_one_query"),
    ("INSERT INTO orders VALUES (1)", "no_query"), ("UPDATE orders SET a = 1", "no_query"),
    ("DELETE FROM orders", "no_query"), ("TRUNCATE orders", "no_query"), ("DROP TABLE orders", "no_query"),
    ("CREATE TABLE x AS SELECT 1", "no_query"), ("CREATE VIEW x AS SELECT 1", "no_query"),
    ("CREATE MACRO f() AS 1", "no_query"), ("ALTER TABLE orders ADD COLUMN x INT", "no_query"),
    ("WITH x AS (INSERT INTO orders VALUES (1) RETURNING *) SELECT * FROM x", "no_query"),
    ("WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x", "no_query"),
    ("MERGE INTO orders USING 客户 ON true WHEN MATCHED THEN DELETE", "no_query"),
    ("SELECT * INTO x FROM orders", "syntax"), ("SELECT * FROM orders FOR UPDATE", "syntax"),
    ("COPY orders TO 'x.csv'", "no_query"), ("COPY orders FROM '/etc/passwd'", "no_query"),
    ("EXPORT DATABASE 'x'", "no_query"), ("IMPORT DATABASE 'x'", "no_query"), ("ATTACH 'x.db'", "no_query"),
    ("DETACH memory", "no_query"), ("USE memory", "no_query"), ("INSTALL httpfs", "no_query"), ("LOAD httpfs", "no_query"),
    ("SET memory_limit = '9GB'", "no_query"), ("RESET memory_limit", "no_query"), ("PRAGMA version", "no_query"),
    ("CALL pragma_version()", "no_query"), ("EXPLAIN SELECT 1", "no_query"), ("BEGIN", "no_query"), ("COMMIT", "no_query"),
    ("CHECKPOINT", "no_query"), ("VACUUM", "no_query"), ("PREPARE p AS SELECT 1", "no_query"), ("EXECUTE p", "no_query"),
    ("DESCRIBE orders", "no_query"), ("SHOW TABLES", "no_query"), ("SUMMARIZE orders", "no_query"),
    ("SELECT $1", "parameter"), ("SELECT ?", "parameter"), ("SELECT $name", "parameter"),
    ("SELECT * FROM main.orders", "qualified_table"), ("SELECT * FROM memory.main.orders", "qualified_table"),
    ("SELECT * FROM information_schema.tables", "qualified_table"), ("SELECT * FROM pg_catalog.pg_class", "qualified_table"),
    ("SELECT * FROM ordres", "unknown_table"), ("SELECT * FROM sqlite_master", "unknown_table"),
    ("SELECT * FROM duckdb_settings", "unknown_table"), ("SELECT * FROM '/etc/passwd'", "unknown_table"),
    ("SELECT * FROM 'https://example.com/x.csv'", "unknown_table"), ('SELECT * FROM "x.parquet"', "unknown_table"),
    ("WITH x AS (SELECT 1) SELECT * FROM (SELECT * FROM y)", "unknown_table"),
    ("SELECT (SELECT max(a) FROM secrets) FROM orders", "unknown_table"),
    ("SELECT * FROM read_csv('/etc/passwd')", "function"), ("SELECT * FROM read_parquet('x')", "function"),
    ("SELECT * FROM read_json_auto('x')", "function"), ("SELECT * FROM read_text('/etc/passwd')", "function"),
    ("SELECT * FROM read_blob('/etc/passwd')", "function"), ("SELECT * FROM glob('/*')", "function"),
    ("SELECT * FROM parquet_metadata('x')", "function"), ("SELECT * FROM duckdb_settings()", "function"),
    ("SELECT * FROM duckdb_secrets()", "function"), ("SELECT * FROM pragma_table_info('orders')", "function"),
    ("SELECT * FROM query('SELECT 1')", "function"), ("SELECT * FROM query_table('orders')", "function"),
    ("SELECT * FROM sniff_csv('x')", "function"), ("SELECT * FROM python_map_function()", "function"),
    ("SELECT getenv('HOME')", "function"), ("SELECT current_setting('memory_limit')", "function"),
    ("SELECT nextval('s')", "function"), ("SELECT current_user", "function"), ("SELECT version()", "function"),
    ("SELECT setseed(0.5)", "function"), ("SELECT write_log('x')", "function"), ("SELECT sleep_ms(1000)", "function"),
    ("SELECT " + "(" * 200 + "1" + ")" * 200, "too_deep"), ("SELECT " + "-".join(["1"] * 5_000), "too_deep"),
    ("SELECT '" + "x" * 21_000 + "'", "too_long"), ("SELECT a FROM", "syntax"), ("SELEC a FROM orders", "syntax"),
]

# Statements that the locked engine must stop by itself, or that touch no file.
ESCAPES = [
    "COPY (SELECT 1) TO '{outside}'", "COPY (SELECT 1) TO '{table}'", "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_text('{secret}')", "SELECT * FROM read_blob('{secret}')", "SELECT * FROM '{secret}'",
    "SELECT * FROM read_text('../../../../../../../../..{secret}')", "SELECT * FROM glob('{folder}/*')",
    "ATTACH '{outside}'", "ATTACH '{secret}' (READ_ONLY)", "EXPORT DATABASE '{folder}/out'", "INSTALL httpfs", "LOAD httpfs",
    "LOAD '{secret}'", "SET enable_external_access = true", "SET allowed_paths = ['{secret}']", "RESET allowed_paths",
    "SET lock_configuration = false", "SET memory_limit = '9GB'", "SET threads = 100", "SET temp_directory = '{folder}'",
    "SET GLOBAL allowed_directories = ['/']", "PRAGMA enable_profiling", "PRAGMA profiling_output = '{outside}'",
    "PRAGMA database_list; COPY (SELECT 1) TO '{outside}'", "CREATE SECRET s (TYPE s3)", "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM read_parquet('{folder}/*')", "SELECT * FROM sniff_csv('{secret}')", "CREATE TABLE t AS FROM '{secret}'",
    "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')", "SELECT * FROM parquet_metadata('{secret}')",
]

# Places of a query at which another query, or a source of rows, is read.
PLACES = [
    "SELECT * FROM (SELECT * FROM {source}) AS inner_rows", "WITH x AS (SELECT * FROM {source}) SELECT * FROM x",
    "SELECT a FROM orders UNION ALL SELECT * FROM {source}", "SELECT (SELECT count(*) FROM {source}) FROM orders",
    "SELECT a FROM orders WHERE EXISTS (SELECT 1 FROM {source})", "SELECT a FROM orders ORDER BY (SELECT 1 FROM {source})",
    "SELECT a FROM orders JOIN {source} ON true", "SELECT a FROM orders, LATERAL (SELECT * FROM {source}) AS l",
]
SOURCES = [
    "read_csv('/etc/passwd')", "read_text('/etc/passwd')", "read_blob('/etc/passwd')", "read_parquet('x.parquet')",
    "glob('/*')", "duckdb_settings()", "duckdb_secrets()", "query('SELECT 1')", "sniff_csv('x')", "'/etc/passwd'",
    "main.orders", "information_schema.tables", "pg_catalog.pg_class", "sqlite_master", "secrets", "read_json('x')",
    "parquet_metadata('x')",
]
NESTED = [place.format(source=source) for place in PLACES for source in SOURCES]
# What the form of the query and the locked engine accept without the check: reads of the engine's memory, and long
# texts. Nothing of it reaches a file.
ENGINE_ACCEPTS = [
    "DESCRIBE orders", "SHOW TABLES", "SUMMARIZE orders", "main.orders", "information_schema.tables", "pg_catalog.pg_class",
    "sqlite_master", "duckdb_settings()", "pragma_table_info('orders')", "query('SELECT 1')", "query_table('orders')",
    "current_setting('memory_limit')", "current_user", "version()", "setseed(0.5)", "write_log('x')", "sleep_ms(1000)",
    "SELECT 1) AS a, (SELECT 2", "SELECT 1\0", "((((", "'xxxx",
]


class CheckSql(unittest.TestCase):
    def test_queries_are_accepted(self):
        for sql in GOOD:
            with self.subTest(sql):
                self.assertIsNotNone(check_sql(sql, TABLES))

    def test_hostile_and_wrong_statements_have_a_code(self):
        self.assertGreaterEqual(len(HOSTILE), 50)
        for sql, code in HOSTILE:
            with self.subTest(sql[:80]):
                with self.assertRaises(SqlError) as raised:
                    check_sql(sql, TABLES)
                self.assertEqual(raised.exception.code, code)

    def test_no_statement_passes_other_than_a_read_of_the_tables(self):
        statements = {*(sql for sql, _ in HOSTILE), *NESTED,
                      *(sql.format(outside="/o", secret="/s", folder="/f", table="/t") for sql in ESCAPES)}
        passed = [sql for sql in sorted(statements) if self.is_accepted(sql)]
        print(f"{len(statements)} statements, {len(passed)} passed")
        self.assertGreaterEqual(len(statements), 240)
        self.assertEqual(passed, [])
        # The places themselves are accepted with a table that is offered.
        for place in PLACES:
            self.assertTrue(self.is_accepted(place.format(source="客户")), place)

    def is_accepted(self, sql):
        try:
            check_sql(sql, TABLES)
        except SqlError:
            return False
        return True

    def test_error_names_what_is_near_and_the_place(self):
        for sql, near in [("SELECT * FROM ordres", ["orders"]), ("SELECT strftme(a) FROM orders", ["strftime"]),
                          ("SELECT * FROM other", ["orders", "客户"])]:
            with self.assertRaises(SqlError) as raised:
                check_sql(sql, TABLES)
            self.assertEqual(raised.exception.near[:len(near)][:1], near[:1])
        with self.assertRaises(SqlError) as raised:
            check_sql("SELECT a\nFROM FROM orders", TABLES)
        self.assertEqual((raised.exception.line, raised.exception.column), (2, 6))

    def test_query_that_only_duckdb_parses_has_no_tree(self):
        import check_sql as module

        parse = module.sqlglot.parse
        self.addCleanup(setattr, module.sqlglot, "parse", parse)

        def fail(*_, **__):
            raise module.sqlglot.errors.ParseError("no")

        module.sqlglot.parse = fail
        self.assertIsNone(check_sql("SELECT 1", TABLES))
        with self.assertRaises(SqlError):
            check_sql("DROP TABLE orders", TABLES)


class Confinement(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.folder = Path(folder.name)
        (self.folder / "secret").write_text("SECRET-4711")
        duckdb.sql("SELECT 1 AS a").write_parquet("orders.parquet")
        self.table = {"name": "orders", "parquet": "orders.parquet", "columns": [{"name": "a", "type": "integer"}]}
        self.places = {"outside": self.folder / "outside", "secret": self.folder / "secret", "folder": self.folder,
                       "table": self.folder / "orders.parquet"}

    def assert_untouched(self, before):
        self.assertEqual({path.name: path.read_bytes() for path in self.folder.iterdir()}, before)

    def test_locked_engine_stops_each_escape_by_itself(self):
        before = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        for statement in ESCAPES:
            with self.subTest(statement), open_engine() as engine:
                lock_engine(engine, ["orders.parquet"])
                try:
                    found = f"{engine.execute(statement.format(**self.places)).fetchall()}"
                except duckdb.Error:
                    found = ""
                self.assertNotIn("4711", found)
                self.assert_untouched(before)

    def test_hostile_queries_of_the_model_fail_and_touch_no_file(self):
        before = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        for statement in [*(statement.format(**self.places) for statement in ESCAPES), *(sql for sql, _ in HOSTILE)]:
            with self.subTest(statement[:80]):
                [result] = run_queries([self.table], [{"question": "", "sql": statement}], [], 5)["results"]
                self.assertIn("error", result)
                self.assert_untouched(before)

    def test_without_the_check_no_statement_touches_a_file_and_the_accepted_ones_are_known(self):
        before = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        statements = [*(sql for sql, _ in HOSTILE), *NESTED, *(sql.format(**self.places) for sql in ESCAPES)]
        queries = [{"question": "", "sql": sql} for sql in statements]
        with unittest.mock.patch("run_queries.check_sql", lambda *_: None):
            results = run_queries([self.table], queries, [], 50)["results"]
        written = {result["file"] for result in results if "file" in result}
        after = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.name not in written}
        self.assertEqual(after, before)
        accepted = [result["sql"] for result in results if "error" not in result]
        for result in results:
            self.assertNotIn("4711", result.get("rows", ""))
        self.assertEqual([sql for sql in accepted if not any(name in sql for name in ENGINE_ACCEPTS)], [])
        self.assertEqual([name for name in ENGINE_ACCEPTS if not any(name in sql for sql in accepted)], [])

    def test_endless_and_huge_queries_end(self):
        for sql, codes in [
            ("WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t", ["timeout", "too_large"]),
            ("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = 7", ["timeout"]),
            ("SELECT list(range) FROM range(200000000)", ["too_large", "timeout"]),
        ]:
            with self.subTest(sql):
                [result] = run_queries([self.table], [{"question": "", "sql": sql}], [], 1.5)["results"]
                self.assertIn(result["error"]["code"], codes)


if __name__ == "__main__":
    unittest.main()
