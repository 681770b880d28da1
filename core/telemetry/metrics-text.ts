import { nextTurn } from '../domain/next-turn.ts'

/** Number of values that are written in one turn of the event loop. */
const TURN_NUMBERS = 4_000

/** One number of a metric. */
export interface Sample {
  /** Suffix of the metric's name, such as `_bucket`. Default: none. */
  readonly suffix?: string
  /** The same object for all buckets of a histogram, so that its text is rendered once. */
  readonly labels: Readonly<Record<string, string>>
  /** The upper end of a bucket. */
  readonly le?: string
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
    const labelsOf = lastLabels()
    for (const sample of samples) {
      lines.push(`${name}${lineEnd(sample, labelsOf(sample.labels))}`)
      if (lines.length % TURN_NUMBERS === 0) await nextTurn()
    }
  }
  return `${lines.join('\n')}\n`
}

/** Returns the part of a line after the metric's name. */
function lineEnd({ suffix = '', le, value, atSeconds }: Sample, labels: string): string {
  const bucket = le === undefined ? '' : `${labels === '' ? '' : ','}le="${le}"`
  const braced = labels === '' && bucket === '' ? '' : `{${labels}${bucket}}`
  return `${suffix}${braced} ${value}${atSeconds === undefined ? '' : ` ${atSeconds}`}`
}

/** The text of labels, made once for samples that follow each other with the same object. */
function lastLabels(): (labels: Sample['labels']) => string {
  let last: Sample['labels'] | undefined
  let text = ''
  return labels => {
    if (labels !== last) text = labelText(labels)
    last = labels
    return text
  }
}

function labelText(labels: Readonly<Record<string, string>>): string {
  let text = ''
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${escaped(labels[name] ?? '')}"`
  return text
}

function escaped(value: string): string {
  if (!/["\\\n\ud800-\udfff]/.test(value)) return value
  return value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
