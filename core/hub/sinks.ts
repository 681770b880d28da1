import { HubError } from '../contract/errors.ts'
import type { EventBus } from '../events/bus.ts'
import type { LogRecord } from '../features/log-records.ts'
import type { LogSink } from '../features/log-sinks.ts'
import type { LogBatch } from '../features/log-store.ts'
import type { HubLog } from '../telemetry/log.ts'
import { linesOf } from '../telemetry/record-blocks.ts'

const QUEUE = { maxRecords: 10_000, maxBytes: 16 * 1024 * 1024 }
const BATCH = { usual: 500, most: 5_000 }
/** Longest wait of the stopping hub for all sinks together to accept the last records, in milliseconds. */
const SINKS_LAST_MS = 3_000
/** Sinks that are not plugins. */
const OWN: ReadonlySet<string> = new Set(['file', 'database'])

/** Dependencies of plugins' sinks. */
export interface SinkParts {
  /** Live: the contributions to the point `logSink`. */
  readonly sinks: ReadonlyMap<string, LogSink>
  readonly bus: Pick<EventBus, 'on' | 'emit'>
  readonly hubLog: HubLog
  /** Run before plugins are stopped. */
  readonly undo: AsyncDisposableStack
}

/**
 * Gives each contribution a queue of the log feed. The queue of a reconfigured plugin is kept with its content; that of a plugin
 * that was switched off or has failed is removed with its waiting records.
 */
export function followSinks({ sinks, bus, hubLog, undo }: SinkParts): void {
  const { feed } = hubLog
  const log = hubLog.with({ component: 'plugins' })
  const open = new Set<string>()
  const follow = (): void => {
    for (const [id, sink] of sinks) {
      if (open.has(id)) continue
      if (OWN.has(id)) {
        log.error('A plugin’s log sink has the name of one of the hub’s own, and gets no records', { sink: id })
        continue
      }
      open.add(id)
      feed.add(id, { ...QUEUE, maxBatch: batchOf(sink), ...deliveryTo(id, { sinks, bus, hubLog }) })
    }
  }
  const end = (id: string, withinMs: number): Promise<void> => {
    open.delete(id)
    return feed.remove(id, withinMs)
  }
  follow()
  feed.started()
  bus.on('plugin.changed', ({ data: { state } }) => {
    follow()
    // For a plugin that is only reconfigured, `stopped` is the first state.
    if (state !== 'stopped') for (const id of open) if (!sinks.has(id)) void end(id, 0)
  })
  undo.defer(async () => {
    await Promise.all([...open].map(id => end(id, SINKS_LAST_MS)))
  })
}

function batchOf({ maxBatch = BATCH.usual }: LogSink): number {
  return Number.isSafeInteger(maxBatch) ? Math.min(Math.max(maxBatch, 1), BATCH.most) : BATCH.usual
}

function deliveryTo(id: string, { sinks, bus, hubLog }: Omit<SinkParts, 'undo'>) {
  const log = hubLog.with({ component: `sink:${id}` })
  return {
    async send(batch: LogBatch, signal: AbortSignal): Promise<{ readonly rejected: number }> {
      const sink = sinks.get(id)
      if (!sink) throw new HubError('delivery_failed', `The plugin of the log sink "${id}" does not run`)
      const lines = linesOf(batch)
      const { rejected } = (await written(sink, lines, signal)) ?? { rejected: 0 }
      return { rejected: Number.isSafeInteger(rejected) ? Math.min(Math.max(rejected, 0), lines.length) : 0 }
    },
    changed(state: 'up' | 'failing', error?: unknown): void {
      bus.emit('sink.state', null, { sink: id, state })
      if (state === 'up') log.info('The log sink takes records again')
      else log.error('The log sink takes no records; they wait', { error: String(error) })
    },
  }
}

function written(sink: LogSink, lines: readonly string[], signal: AbortSignal) {
  if (sink.takes === 'lines') {
    // Each line ends with a newline, as in the file.
    return sink.write(
      lines.map(line => line.trimEnd()),
      signal,
    )
  }
  return sink.write(
    lines.map(line => JSON.parse(line) as LogRecord),
    signal,
  )
}
