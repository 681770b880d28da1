/** A time in milliseconds since 1970, and the value then; null: nothing was measured. */
export type ChartPoint = readonly [atMs: number, value: number | null]

/** A line of a chart. */
export interface ChartSeries {
  readonly label: string
  /** In the order of time; with `stepMs` a missing step is a gap. */
  readonly points: readonly ChartPoint[]
  /** Colour 1 to 6 of the palette. Default: the place in the list. */
  readonly color?: 1 | 2 | 3 | 4 | 5 | 6
  /** Fills the ground below the line. Default: only a single line has it. */
  readonly area?: boolean
}

/** Most steps that are filled with gaps. */
const MOST_STEPS = 20_000

/** Times in seconds, and the values of each series at them: the form that the plot draws. */
export interface Aligned {
  readonly times: number[]
  readonly values: (number | null)[][]
}

/** All series over the union of their times; steps that are missing become gaps. */
export function aligned(
  series: readonly ChartSeries[],
  stepMs: number | undefined,
  from?: number,
  to?: number,
): Aligned {
  const at = new Set<number>()
  for (const { points } of series) for (const [time] of points) at.add(time)
  if (stepMs && at.size > 0) addGaps(at, stepMs)
  const times = [...at].filter(time => (from === undefined || time >= from) && (to === undefined || time <= to))
  times.sort((left, right) => left - right)
  const values = series.map(({ points }) => {
    const known = new Map(points)
    return times.map(time => known.get(time) ?? null)
  })
  return { times: times.map(time => time / 1000), values }
}

function addGaps(at: Set<number>, stepMs: number): void {
  const sorted = [...at].sort((left, right) => left - right)
  const [first = 0] = sorted
  const last = sorted.at(-1) ?? first
  if ((last - first) / stepMs > MOST_STEPS) return
  for (let time = first; time < last; time += stepMs) at.add(time)
}

/** The last value of a series that is known. */
export function lastOf({ points }: ChartSeries): number | null {
  return points.findLast(([, value]) => value !== null)?.[1] ?? null
}
