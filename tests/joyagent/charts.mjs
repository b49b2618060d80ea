// Prints the chart that JoyAgent's page draws of each element of `CHART_DATA` in an array on the standard input.
//
// ChartUtils.js is the page's own file, unchanged: ui/src/components/DataChat/ChartUtils.js of JoyAgent-JDGenie
// (https://github.com/jd-opensource/joyagent-jdgenie, Apache-2.0) at commit ec5db5c1fd1e6016f7325f894626493b9029bcd9.

import { readFileSync } from "node:fs";
import ChartUtils from "./ChartUtils.js";

function draw(fields) {
  // As the page's index.tsx does.
  fields.chartSuggest = ChartUtils.checkChartType(fields);
  const { chartType, option, dataList, kpiList } = ChartUtils.transConfig(fields);
  const axis = option?.xAxis?.data ?? option?.yAxis?.data;
  const names = axis ?? option?.series[0].data.map((point) => point.name) ?? [];
  const points = option?.series.map((series) => series.data.map((point) => point.value)) ?? [];
  const texts = option?.series.flatMap((series) => series.data.map((point) => point.showValue)) ?? [];
  if (texts.some((text) => text === undefined)) throw new Error(`a point of ${JSON.stringify(fields)} has no text`);
  return { chart: chartType, names, points, rows: (dataList ?? kpiList ?? []).length };
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(draw)));
