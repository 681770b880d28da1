import { nextTurn } from '../domain/next-turn.ts'

/** So many numbers are written in one turn of the event loop. */
const TURN_NUMBERS = 4_000

/** One number of a metric. */
export interface Sample {
  /** Behind the metric's name, such as `_bucket`. Default none. */
  readonly suffix?: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** When it was so, in seconds since 1970. Default: now. */
  readonly atSeconds?: number
}

/** A metric with all its numbers. */
export interface MetricFamily {
  /** Without the prefix `patchbay_`, but for metrics of the process. */
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly samples: Iterable<Sample>
}

/** The text format 0.0.4 of Prometheus, written in several turns of the event loop. */
export async function prometheusText(families: Iterable<MetricFamily>): Promise<string> {
  const lines: string[] = []
  for (const { name: own, help, type, samples } of families) {
    const name = own.startsWith('process_') ? own : `patchbay_${own}`
    lines.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${type}`)
    for (const { suffix = '', labels, value, atSeconds } of samples) {
      const time = atSeconds === undefined ? '' : ` ${atSeconds}`
      lines.push(`${name}${suffix}${labelText(labels)} ${value}${time}`)
      if (lines.length % TURN_NUMBERS === 0) await nextTurn()
    }
  }
  return `${lines.join('\n')}\n`
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

/** A label's value is any text; one half of a surrogate pair would be no UTF-8. */
function escaped(value: string): string {
  if (!/["\\\n\ud800-\udfff]/.test(value)) return value
  return value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
