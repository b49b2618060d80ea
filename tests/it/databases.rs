//! Questions over a real PostgreSQL server, and the database port over it.

mod adapter;
mod function;
mod hostile;
pub(crate) mod server;
mod stories;

use server::Server;

/// Orders of two users, and what no caller may see.
pub(crate) const ORDERS: &str = "\
    CREATE TABLE orders (id int PRIMARY KEY, owner text, region text, amount numeric(20,2), cost int, \
      paid timestamptz, \"Note\" text);\
    INSERT INTO orders VALUES \
      (1, 'you', 'East', 10, 99001, '2024-01-04T16:00:00Z', 'a'),\
      (2, 'you', 'West', 5, 99002, '2024-01-05T16:00:00Z', NULL),\
      (3, 'ann', 'North', 700, 99003, '2024-01-05T16:00:00Z', 'b');\
    CREATE TABLE items (order_id int REFERENCES orders, sku text, UNIQUE (order_id, sku));\
    INSERT INTO items VALUES (1, 'x'), (1, 'y'), (2, 'x');\
    CREATE TABLE secrets (word text); INSERT INTO secrets VALUES ('4711');\
    CREATE SEQUENCE numbers;\
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;\
    GRANT USAGE ON SEQUENCE numbers TO reader;\
    ANALYZE;";
