import uPlot from 'uplot'
import type { Aligned, ChartSeries } from './aligned.ts'
import { formatAxisTime } from './time-axis.ts'
import { axisText, type ChartUnit } from './units.ts'

/** A level that matters, drawn across as a dashed line with its name: that of the alert. */
export interface ChartThreshold {
  readonly value: number
  readonly name: string
}

/** A time without data, and why, in a word or two. */
export interface ChartGap {
  readonly fromMs: number
  readonly toMs: number
  readonly reason: string
}

/** Inputs for drawing the plot of a chart. */
export interface PlotOptions {
  readonly series: readonly ChartSeries[]
  readonly hidden: ReadonlySet<string>
  readonly data: Aligned
  readonly unit: ChartUnit
  readonly thresholds: readonly ChartThreshold[]
  readonly gaps: readonly ChartGap[]
  readonly width: number
  readonly height: number
  /** Names at the lines' ends, where there are several. */
  readonly endLabels: boolean
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
  /** A value of the style sheet, such as `--pb-chart-1`. */
  readonly color: (name: string) => string
  /** The index of the time under the pointer; undefined: none. */
  readonly onPoint: (index: number | undefined) => void
}

/** Dashes of the lines from the first on, so that they differ without colour. */
export const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 3], [8, 3, 2, 3], [4, 4], [1, 3]]
const FONT = '11.5px'

/** Draws a chart into an element. */
export function drawPlot(target: HTMLElement, options: PlotOptions): uPlot {
  const { color, data, series, unit } = options
  const font = `${FONT} ${color('--pb-font') || 'sans-serif'}`
  const axis = { stroke: color('--pb-chart-axis'), font, ticks: { show: false } }
  const grid = { stroke: color('--pb-chart-grid'), width: 1 }
  const rightOf = options.endLabels ? endWidth(target, series, font) : 10
  const most = highest(options)
  const plot = new uPlot(
    {
      width: options.width,
      height: options.height,
      padding: [8, rightOf, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: {
        x: { time: true, ...rangeOf(options) },
        y: { range: () => [0, most] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 24,
          space: 70,
          values: (_, splits) => splits.map(at => formatAxisTime(at * 1000, (splits.at(-1) ?? 0) - (splits[0] ?? 0))),
        },
        {
          ...axis,
          grid,
          size: (_, values) => Math.max(30, ...(values ?? []).map(text => text.length * 7 + 12)),
          splits: () =>
            [0, most / 4, most / 2, (most * 3) / 4, most].filter((_, at) => options.height > 110 || at % 2 === 0),
          values: (_, splits) => splits.map(value => axisText(value, unit)),
        },
      ],
      series: [{}, ...series.map((line, at) => lineOf(line, at, options))],
      hooks: {
        drawClear: [self => drawGaps(self, options)],
        draw: [self => drawOver(self, options, font)],
        setCursor: [self => options.onPoint(self.cursor.idx ?? undefined)],
      },
    },
    [data.times, ...data.values],
    target,
  )
  return plot
}

function lineOf(line: ChartSeries, at: number, { color, hidden, series }: PlotOptions): uPlot.Series {
  const stroke = color(colorName(line, at))
  const filled = line.area ?? series.length === 1
  return {
    label: line.label,
    show: !hidden.has(line.label),
    stroke,
    width: 1.6,
    dash: [...(DASHES[at % DASHES.length] ?? [])],
    ...(filled ? { fill: transparent(stroke) } : {}),
    spanGaps: false,
    points: { show: (_, __, from, to) => from === to },
  }
}

/** The variable of the style sheet that a line is drawn in. */
export function colorName({ color }: ChartSeries, at: number): string {
  return `--pb-chart-${color ?? (at % 6) + 1}`
}

/** A colour of the form #rrggbb at a tenth of its strength. */
function transparent(color: string): string {
  return /^#[0-9a-f]{6}$/i.test(color) ? `${color}1a` : 'transparent'
}

function rangeOf({ fromMs, toMs }: PlotOptions): object {
  return fromMs === undefined || toMs === undefined ? {} : { range: () => [fromMs / 1000, toMs / 1000] }
}

/** The top of the scale: a number that divides well by four, above all values and thresholds. */
function highest({ data, series, hidden, thresholds, unit }: PlotOptions): number {
  const shown = data.values.filter((_, at) => !hidden.has(series[at]?.label ?? ''))
  const most = [...shown.flat(), ...thresholds.map(({ value }) => value * 1.2)].reduce<number>(
    (high, value) => Math.max(high, value ?? 0),
    0,
  )
  if (most === 0) return unit === 'ratio' ? 0.04 : 4
  if (WHOLE.has(unit) && most <= 4) return 4
  const magnitude = 10 ** Math.floor(Math.log10(most))
  const step = [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10].find(each => each * magnitude >= most) ?? 10
  return step * magnitude
}

/** Units of whole numbers: their scale has no parts of one. */
const WHOLE: ReadonlySet<ChartUnit> = new Set(['count', 'per_minute', 'any', 'bytes'])

function drawGaps(plot: uPlot, { gaps, color }: PlotOptions): void {
  const { ctx, bbox } = plot
  for (const { fromMs, toMs } of gaps) {
    const [left, right] = [xOf(plot, fromMs), xOf(plot, toMs)]
    ctx.fillStyle = color('--pb-chart-band')
    ctx.fillRect(left, bbox.top, Math.max(right - left, 1), bbox.height)
  }
}

function xOf(plot: uPlot, ms: number): number {
  const { left, width } = plot.bbox
  return Math.min(Math.max(plot.valToPos(ms / 1000, 'x', true), left), left + width)
}

/** Draws the parts above the lines: thresholds, reasons of gaps, and the ends of the lines. */
function drawOver(plot: uPlot, options: PlotOptions, font: string): void {
  const { ctx, bbox } = plot
  const { color } = options
  const scale = devicePixelRatio
  ctx.save()
  ctx.font = font.replace(FONT, `${11.5 * scale}px`)
  ctx.fillStyle = color('--pb-chart-axis')
  ctx.textAlign = 'center'
  ctx.textBaseline = 'alphabetic'
  for (const { fromMs, toMs, reason } of options.gaps) {
    const half = ctx.measureText(reason).width / 2
    const middle = (xOf(plot, fromMs) + xOf(plot, toMs)) / 2
    const at = Math.min(Math.max(middle, bbox.left + half), bbox.left + bbox.width - half)
    ctx.fillText(reason, at, bbox.top + 13 * scale)
  }
  ctx.textAlign = 'left'
  for (const { value, name } of options.thresholds) {
    const at = plot.valToPos(value, 'y', true)
    ctx.strokeStyle = color('--pb-bad-mark')
    ctx.lineWidth = 1.2 * scale
    ctx.setLineDash([5 * scale, 4 * scale])
    ctx.beginPath()
    ctx.moveTo(bbox.left, at)
    ctx.lineTo(bbox.left + bbox.width, at)
    ctx.stroke()
    ctx.fillStyle = color('--pb-bad')
    ctx.fillText(name, bbox.left + 6 * scale, at - 5 * scale)
  }
  ctx.setLineDash([])
  drawEnds(plot, options)
  ctx.restore()
}

function drawEnds(plot: uPlot, { data, series, hidden, color, endLabels }: PlotOptions): void {
  const { ctx } = plot
  const scale = devicePixelRatio
  const ends = series.flatMap((line, at) => {
    const index = data.values[at]?.findLastIndex(value => value !== null) ?? -1
    const value = data.values[at]?.[index]
    const time = data.times[index]
    if (hidden.has(line.label) || value == null || time === undefined) return []
    const [x, y] = [plot.valToPos(time, 'x', true), plot.valToPos(value, 'y', true)]
    return [{ x, y, text: y, label: line.label, color: color(colorName(line, at)) }]
  })
  for (const { x, y, color: fill } of ends) {
    ctx.fillStyle = fill
    ctx.beginPath()
    ctx.arc(x, y, 2.8 * scale, 0, Math.PI * 2)
    ctx.fill()
  }
  if (!endLabels) return
  ends.sort((left, right) => left.y - right.y)
  let last = Number.NEGATIVE_INFINITY
  ctx.fillStyle = color('--pb-chart-axis')
  ctx.textBaseline = 'middle'
  const left = plot.bbox.left + plot.bbox.width + 8 * scale
  for (const { y, label } of ends) {
    last = Math.max(y, last + 13 * scale)
    ctx.fillText(cut(label), left, last)
  }
}

/** Longest label at the ends, in characters; the legend has the full names. */
const END_CHARACTERS = 18

function cut(label: string): string {
  return label.length <= END_CHARACTERS ? label : `${label.slice(0, END_CHARACTERS - 1)}…`
}

function endWidth(target: HTMLElement, series: readonly ChartSeries[], font: string): number {
  const context = document.createElement('canvas').getContext('2d')
  if (!context) return 80
  context.font = font
  const widest = Math.max(0, ...series.map(({ label }) => context.measureText(cut(label)).width))
  return Math.min(widest + 14, target.clientWidth / 3)
}
