"""Runs queries over tables in CSV files without the sandbox's reader, check and limits.

    tpch_unchecked.py MODULES FOLDER

Standard input is a JSON array of queries. `FOLDER` has a file for each table. Prints a JSON array with the rows of each
query; values are written as the sandbox's modules in `MODULES` write them.
"""

import json
import sys

import duckdb

MONEY = "DECIMAL(15, 2)"
COLUMNS = {
    "region": {"r_regionkey": "INTEGER", "r_name": "VARCHAR", "r_comment": "VARCHAR"},
    "nation": {"n_nationkey": "INTEGER", "n_name": "VARCHAR", "n_regionkey": "INTEGER", "n_comment": "VARCHAR"},
    "supplier": {"s_suppkey": "BIGINT", "s_name": "VARCHAR", "s_address": "VARCHAR", "s_nationkey": "INTEGER",
                 "s_phone": "VARCHAR", "s_acctbal": MONEY, "s_comment": "VARCHAR"},
    "customer": {"c_custkey": "BIGINT", "c_name": "VARCHAR", "c_address": "VARCHAR", "c_nationkey": "INTEGER",
                 "c_phone": "VARCHAR", "c_acctbal": MONEY, "c_mktsegment": "VARCHAR", "c_comment": "VARCHAR"},
    "part": {"p_partkey": "BIGINT", "p_name": "VARCHAR", "p_mfgr": "VARCHAR", "p_brand": "VARCHAR", "p_type": "VARCHAR",
             "p_size": "INTEGER", "p_container": "VARCHAR", "p_retailprice": MONEY, "p_comment": "VARCHAR"},
    "partsupp": {"ps_partkey": "BIGINT", "ps_suppkey": "BIGINT", "ps_availqty": "BIGINT", "ps_supplycost": MONEY,
                 "ps_comment": "VARCHAR"},
    "orders": {"o_orderkey": "BIGINT", "o_custkey": "BIGINT", "o_orderstatus": "VARCHAR", "o_totalprice": MONEY,
               "o_orderdate": "DATE", "o_orderpriority": "VARCHAR", "o_clerk": "VARCHAR", "o_shippriority": "INTEGER",
               "o_comment": "VARCHAR"},
    "lineitem": {"l_orderkey": "BIGINT", "l_partkey": "BIGINT", "l_suppkey": "BIGINT", "l_linenumber": "BIGINT",
                 "l_quantity": MONEY, "l_extendedprice": MONEY, "l_discount": MONEY, "l_tax": MONEY,
                 "l_returnflag": "VARCHAR", "l_linestatus": "VARCHAR", "l_shipdate": "DATE", "l_commitdate": "DATE",
                 "l_receiptdate": "DATE", "l_shipinstruct": "VARCHAR", "l_shipmode": "VARCHAR", "l_comment": "VARCHAR"},
}


def main(modules, folder):
    sys.path.insert(0, modules)
    from read_tables import show_value

    engine = duckdb.connect(":memory:")
    for table, columns in COLUMNS.items():
        rows = engine.read_csv(f"{folder}/{table}.csv", header=True, columns=columns)  # noqa: F841
        engine.execute(f"CREATE TABLE {table} AS SELECT * FROM rows")
    results = []
    for query in json.load(sys.stdin):
        rows = engine.execute(query).fetchall()
        results.append([[show_value(cell) for cell in row] for row in rows])
    print(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
