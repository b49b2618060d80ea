//! The demo tables: orders of a shop as a table and as a view with Chinese names, the same at every start.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// The number of orders.
const ORDERS: u64 = 10_000;

/// Days over which the orders are spread, from January 1, 2023: two years.
const DAYS: u64 = 731;

const REGIONS: [&str; 5] = ["East", "North", "South", "West", "Central"];

/// Products with their price in cents.
const PRODUCTS: [(&str, u64); 15] = [
    ("Desk", 24_900),
    ("Chair", 9_900),
    ("Lamp", 3_500),
    ("Shelf", 7_900),
    ("Sofa", 69_900),
    ("Bed", 49_900),
    ("Wardrobe", 39_900),
    ("Mirror", 5_900),
    ("Carpet", 12_900),
    ("Curtain", 4_500),
    ("Cushion", 1_500),
    ("Clock", 2_900),
    ("Vase", 1_900),
    ("Table", 19_900),
    ("Bench", 8_900),
];

/// The files of the tables besides their data.
const TABLES: [(&str, &str); 2] = [
    (
        "sales_data.md",
        "---
name: sales_data
title: Orders
source: sales_data.csv
columns:
  order_date: Day of the order.
  quantity: {about: Pieces of the order, also: [units sold]}
  sales: {about: Price of all pieces in euros, also: [turnover, revenue]}
  cost: {about: Purchase price of all pieces in euros, also: [purchasing cost]}
---
Each row is one order of one product. The profit is `sales` less `cost`.
",
    ),
    (
        "sales_view.md",
        r#"---
name: sales_view
title: 销售明细
source: sales_data.csv
sql: >-
  SELECT order_id AS "订单号", order_date AS "下单日期", region AS "地区", product AS "商品名称", quantity AS "销量",
  sales AS "销售额", cost AS "采购成本" FROM sales_data
columns:
  销量: {about: 售出件数, also: [销售数量]}
  销售额: {about: 订单金额（欧元）, also: [营业额]}
  采购成本: {about: 进货金额（欧元）, also: [成本]}
---
每行是一个商品的一个订单。利润等于“销售额”减“采购成本”。
"#,
    ),
];

/// Writes the demo tables into a configuration folder that has no tables.
///
/// # Errors
/// Returns the error of the disk.
pub fn write_demo_tables(folder: &Path) -> io::Result<()> {
    let tables = folder.join("tables");
    if tables.exists() {
        return Ok(());
    }
    fs::create_dir_all(&tables)?;
    fs::write(tables.join("sales_data.csv"), list_orders())?;
    for (name, text) in TABLES {
        fs::write(tables.join(name), text)?;
    }
    Ok(())
}

/// Returns the orders as CSV. Sales grow over the two years, and are highest in winter.
fn list_orders() -> String {
    let mut random = Random(20_240_101);
    let mut csv = "order_id,order_date,region,product,quantity,sales,cost\n".to_owned();
    for order in 1..=ORDERS {
        let day = random.below(DAYS).max(random.below(DAYS));
        let region = random.choose(&REGIONS).copied().unwrap_or_default();
        let (product, price) = random.choose(&PRODUCTS).copied().unwrap_or_default();
        let (year, month, date) = civil_date(day);
        let quantity = 1 + random.below(4) + u64::from(month >= 11) * random.below(3);
        let sales = quantity * price;
        let cost = sales * (55 + random.below(20)) / 100;
        // Writing into a text cannot fail.
        let _ = writeln!(
            csv,
            "{order},{year}-{month:02}-{date:02},{region},{product},{quantity},{},{}",
            show_cents(sales),
            show_cents(cost)
        );
    }
    csv
}

fn show_cents(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// Returns the date so many days after January 1, 2023.
fn civil_date(day: u64) -> (u64, u64, u64) {
    let (year, mut day) = if day < 365 { (2023, day) } else { (2024, day - 365) };
    let february = if year == 2024 { 29 } else { 28 };
    for (month, days) in (1..).zip([31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
        if day < days {
            return (year, month, day + 1);
        }
        day -= days;
    }
    (year, 12, 31)
}

/// Numbers that are the same at every start, by the linear congruential generator of Knuth's MMIX.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let place = self.below(items.len() as u64);
        usize::try_from(place).ok().and_then(|place| items.get(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Djinn, check_folder};

    #[test]
    fn demo_tables_are_valid_the_same_each_time_and_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        write_demo_tables(folder.path()).unwrap();
        let checked = check_folder(&Djinn::new(), folder.path(), &[]).unwrap();
        assert_eq!(
            checked.files,
            ["tables/sales_data.csv", "tables/sales_data.md", "tables/sales_view.md"]
        );
        let data = folder.path().join("tables/sales_data.csv");
        let csv = fs::read_to_string(&data).unwrap();
        assert_eq!(csv, list_orders());
        assert_eq!(csv.lines().count(), 10_001);
        let months = |year: u32| (1..=12).map(move |month| format!(",{year}-{month:02}-"));
        assert!(months(2023).chain(months(2024)).all(|month| csv.contains(&month)));
        fs::write(&data, "a\n1\n").unwrap();
        write_demo_tables(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&data).unwrap(), "a\n1\n");
    }
}
