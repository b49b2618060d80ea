import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { type PageLanguage, useLanguage, useWords } from "../../words";
import { formatCount, formatShort } from "../../words/numbers";
import { type ChartData, extremesOf, MIN_RANGE, slicesOf, type Span, spansOf, ticksOf } from "./chart";
import styles from "./rows.module.css";

const HEIGHT = 220;
const ROOM = { left: 52, right: 14, top: 10, bottom: 26 };
/** The height of a bar with its gap, in pixels. */
const BAR = 22;

/** The width of a text, roughly: half of the characters of a label may be wide. */
const widthOf = (text: string): number =>
  [...text].reduce((sum, character) => sum + ((character.codePointAt(0) ?? 0) > 0x2e80 ? 12.5 : 7.2), 0);

function shorten(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let short = text;
  while (short.length > 1 && widthOf(`${short}…`) > width) short = short.slice(0, -1);
  return `${short}…`;
}

/** A chart in the width of its place. Its name sums it up; the table below has all values. */
export function Chart({ data }: { data: ChartData }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const fit = (): void => setWidth(Math.max(240, Math.floor(element.clientWidth || 640)));
    fit();
    const watcher = new ResizeObserver(fit);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  const extremes = extremesOf(data);
  const show = (label: string, value: number): string => `${label} (${formatCount(value, language)})`;
  const names = data.series.map((series) => series.name).join(", ");
  const summary = words.rows.chart(
    words.rows.kind[data.kind],
    names,
    data.xName,
    data.labels.length,
    extremes ? show(...extremes.low) : "",
    extremes ? show(...extremes.high) : "",
  );
  const shape = { data, width, language };
  return (
    <figure className={styles.chart}>
      <div ref={place} role="img" aria-label={summary} data-chart={data.kind}>
        {data.kind === "bar" ? <Bars {...shape} /> : data.kind === "pie" ? <Pie {...shape} /> : <Lines {...shape} />}
      </div>
      {data.series.length > 1 ? (
        <figcaption className={styles.legend} aria-hidden="true">
          {data.series.map((series, index) => (
            <span key={index}>
              <svg width="18" height="8">
                <line x1="0" y1="4" x2="18" y2="4" className={styles[`line${index}`]} />
              </svg>{" "}
              {series.name}
            </span>
          ))}
        </figcaption>
      ) : null}
      {data.isCut ? <p className={styles.note}>{words.rows.chartCut(data.labels.length)}</p> : null}
    </figure>
  );
}

interface ShapeProps {
  readonly data: ChartData;
  readonly width: number;
  readonly language: PageLanguage;
}

type Spans = readonly (Span | null)[];

const endsOf = (spans: readonly Spans[]): readonly number[] =>
  spans.flatMap((series) => series.flatMap((span) => (span ? [span.end] : [])));

/** Lines, areas, or single points. */
function Lines({ data, width, language }: ShapeProps): ReactNode {
  const spans = spansOf(data);
  const values = endsOf(spans);
  const ticks = ticksOf(Math.min(...values), Math.max(...values));
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  const inner = { width: width - ROOM.left - ROOM.right, height: HEIGHT - ROOM.top - ROOM.bottom };
  const x = (index: number): number => ROOM.left + (data.places[index] ?? 0) * inner.width;
  const y = (value: number): number => ROOM.top + inner.height * (1 - (value - low) / (high - low));
  const isScatter = data.kind === "scatter";
  const marks = marksOf(data, inner.width);
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true">
      {ticks.map((tick) => (
        <g key={tick}>
          <line x1={ROOM.left} x2={width - ROOM.right} y1={y(tick)} y2={y(tick)} className={tick === 0 ? styles.zero : styles.grid} />
          <text x={ROOM.left - 8} y={y(tick) + 4} textAnchor="end" className={styles.tick}>
            {formatShort(tick, language)}
          </text>
        </g>
      ))}
      {marks.map(({ place, text, width: room }, index) => {
        const at = ROOM.left + place * inner.width;
        const side = at < room / 2 ? "start" : at + room / 2 > width ? "end" : "middle";
        return (
          <text key={index} x={at} y={HEIGHT - 8} textAnchor={side} className={styles.tick}>
            {text}
          </text>
        );
      })}
      {spans.map((series, nth) => (
        <g key={nth}>
          {data.kind === "area" ? <path d={areaOf(series, x, y)} className={styles[`area${nth}`]} /> : null}
          {isScatter ? null : <path d={pathOf(series, x, y)} className={styles[`line${nth}`]} />}
          {isScatter || data.labels.length <= 60
            ? series.map((span, index) =>
                span === null ? null : (
                  <circle key={index} cx={x(index)} cy={y(span.end)} r="3" className={styles[`fill${nth}`]} data-point="">
                    <title>{`${data.labels[index]}: ${formatCount(span.value, language)}`}</title>
                  </circle>
                ),
              )
            : null}
        </g>
      ))}
    </svg>
  );
}

interface AxisMark {
  readonly place: number;
  readonly text: string;
  readonly width: number;
}

/** Returns the labels below a line that have room; below points, the lowest and the highest with the axis's name. */
function marksOf({ kind, labels, places, xName }: ChartData, width: number): readonly AxisMark[] {
  const widest = Math.max(...labels.map(widthOf)) + 14;
  const marks = labels.map((text, index) => ({ place: places[index] ?? 0, text, width: widest }));
  if (kind === "scatter") {
    const [first, ...others] = marks.toSorted((one, other) => one.place - other.place);
    const last = others.at(-1);
    const name = { place: 0.5, text: shorten(xName, width / 2), width: 0 };
    return first && last && last.place > first.place ? [first, name, last] : [name];
  }
  const step = Math.max(1, Math.ceil(labels.length / Math.max(1, Math.floor(width / widest))));
  return marks.filter((_, index) => index % step === 0);
}

type Axis = (value: number) => number;

/** The path through all ends; a gap begins a new line. */
const pathOf = (spans: Spans, x: Axis, y: Axis): string =>
  spans
    .map((span, index) =>
      span === null ? "" : `${spans[index - 1] ? "L" : "M"}${x(index).toFixed(1)},${y(span.end).toFixed(1)}`,
    )
    .join("");

/** The outline between begins and ends, one part for each pair of neighbours. */
const areaOf = (spans: Spans, x: Axis, y: Axis): string =>
  spans
    .map((span, index) => {
      const before = spans[index - 1];
      if (!span || !before) return "";
      const [left, right] = [x(index - 1).toFixed(1), x(index).toFixed(1)];
      return `M${left},${y(before.begin).toFixed(1)}L${left},${y(before.end).toFixed(1)}L${right},${y(span.end).toFixed(1)}L${right},${y(span.begin).toFixed(1)}Z`;
    })
    .join("");

/** Bars for each label: beside each other, or stacked with their sum. */
function Bars({ data, width, language }: ShapeProps): ReactNode {
  const spans = spansOf(data);
  const values = endsOf(spans);
  const text = (value: number): string => formatCount(value, language);
  const room = Math.min(width * 0.34, Math.max(...data.labels.map(widthOf)) + 10);
  const end = Math.max(...values.map((value) => widthOf(text(value)))) + 10;
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const range = high - low < MIN_RANGE ? 1 : high - low;
  const scale = Math.max(20, width - room - end * (low < 0 ? 2 : 1)) / range;
  const zero = room + (low < 0 ? end : 0) - low * scale;
  const group = (data.isStacked ? 1 : data.series.length) * BAR + 4;
  return (
    <svg width={width} height={data.labels.length * group} aria-hidden="true">
      {data.labels.map((label, index) => (
        <g key={index}>
          <text x={room - 8} y={index * group + group / 2 + 3} textAnchor="end" className={styles.tick}>
            {shorten(label, room - 8)}
            <title>{label}</title>
          </text>
          {spans.map((series, nth) => {
            const span = series[index] ?? null;
            if (span === null) return null;
            const top = index * group + (data.isStacked ? 0 : nth) * BAR + 3;
            const [from, to] = span.value < 0 ? [span.end, span.begin] : [span.begin, span.end];
            const isLast = !data.isStacked || isOutermost(spans, nth, index);
            return (
              <g key={nth} data-bar="">
                <rect
                  x={zero + from * scale}
                  y={top}
                  width={Math.max(1, (to - from) * scale)}
                  height={BAR - 6}
                  rx={data.isStacked ? 0 : 2}
                  className={styles[`fill${nth}`]}
                >
                  <title>{`${data.series[nth]?.name}: ${text(span.value)}`}</title>
                </rect>
                {isLast ? (
                  <text
                    x={zero + span.end * scale + (span.value < 0 ? -6 : 6)}
                    y={top + 12}
                    textAnchor={span.value < 0 ? "end" : "start"}
                    className={styles.tick}
                  >
                    {text(span.end)}
                  </text>
                ) : null}
              </g>
            );
          })}
        </g>
      ))}
      {low < 0 ? <line x1={zero} x2={zero} y1="0" y2={data.labels.length * group} className={styles.zero} /> : null}
    </svg>
  );
}

/** Returns true if no later value of a label continues the stack on the same side. */
const isOutermost = (spans: readonly Spans[], nth: number, index: number): boolean => {
  const isBelow = (span: Span | null | undefined): boolean => (span?.value ?? 0) < 0;
  return !spans.slice(nth + 1).some((series) => series[index] && isBelow(series[index]) === isBelow(spans[nth]?.[index]));
};

function Pie({ data, width, language }: ShapeProps): ReactNode {
  const slices = slicesOf(data.series[0]?.values ?? []);
  const line = 24;
  const size = 180;
  const isNarrow = width < 460;
  const middle = size / 2;
  const listTop = isNarrow ? size + 12 : Math.max(0, (size - slices.length * line) / 2);
  const listLeft = isNarrow ? 0 : size + 32;
  const height = isNarrow ? listTop + slices.length * line : Math.max(size, slices.length * line);
  return (
    <svg width={width} height={height} aria-hidden="true">
      {slices.map(({ from, to, value }, index) => (
        <g key={index} data-slice="">
          <path d={sliceOf(from, to, middle)} className={styles[`slice${index % 6}`]} />
          <rect x={listLeft} y={listTop + index * line + 5} width="12" height="12" rx="2" className={styles[`slice${index % 6}`]} />
          <text x={listLeft + 20} y={listTop + index * line + 16} className={styles.tick}>
            {shorten(data.labels[index] ?? "", width - listLeft - 150)}
            {` · ${formatCount(value, language)} · ${(100 * (to - from)).toFixed(1)} %`}
          </text>
        </g>
      ))}
    </svg>
  );
}

/** The outline of a slice; a slice of the whole is two halves, because an arc to its own begin is nothing. */
function sliceOf(from: number, to: number, radius: number): string {
  const at = (part: number): string => {
    const angle = 2 * Math.PI * part - Math.PI / 2;
    return `${(radius + (radius - 2) * Math.cos(angle)).toFixed(2)},${(radius + (radius - 2) * Math.sin(angle)).toFixed(2)}`;
  };
  const arc = (end: number): string => `A${radius - 2},${radius - 2} 0 0 1 ${at(end)}`;
  return `M${radius},${radius}L${at(from)}${arc((from + to) / 2)}${arc(to)}Z`;
}
