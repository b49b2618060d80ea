/** The table of the sample questions: the sales of three regions in four years. */

export const SAMPLE_TABLE = "sales.csv";

const ROWS = [
  "region,year,sales",
  "North,2021,1284000",
  "North,2022,1317500",
  "North,2023,1342800",
  "North,2024,1391200",
  "South,2021,962300",
  "South,2022,1015400",
  "South,2023,1098700",
  "South,2024,1163900",
  "East,2021,655100",
  "East,2022,742600",
  "East,2023,889300",
  "East,2024,1021400",
];

export const sampleTable = (): File => new File([`${ROWS.join("\n")}\n`], SAMPLE_TABLE, { type: "text/csv" });
