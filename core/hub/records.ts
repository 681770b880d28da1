import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { HubConfig } from '../config/schema.ts'
import type { ToolCallRecord } from '../contract/records.ts'
import type { EventBus } from '../events/bus.ts'
import { History } from '../history/client.ts'
import { StoringPace } from '../history/storing-pace.ts'
import type { DurationSeries } from '../telemetry/duration-series.ts'
import type { HubLog } from '../telemetry/log.ts'
import { LogTally, SLOT_MS } from '../telemetry/log-tally.ts'
import type { SinkQueue } from '../telemetry/sink-queue.ts'

/** Longest wait of the stopping hub for sinks to accept the last records, in milliseconds. */
const SINKS_LAST_MS = 3_000
/** The same for PostgreSQL, which may not answer at all, and holds up the store's end as well then. */
const POSTGRES_LAST_MS = 500

const HISTORY_QUEUE = { maxRecords: 50_000, maxBytes: 16 * 1024 * 1024 }
/**
 * Records of one transaction of SQLite: about 2 ms of work, for which a call that needs the same processor must wait. With 2,000
 * of them it was 10 ms at a time, and a tenth less for each record.
 */
const SQLITE_BATCH = 150
/** The same for PostgreSQL, whose server does the work: fewer would only cause more round trips. */
const POSTGRES_BATCH = 2_000

/** Dependencies of the history; `undo`: run at the end. */
export interface HistoryParts {
  readonly hubLog: HubLog
  readonly bus: Pick<EventBus, 'emit'>
  readonly durations: DurationSeries
  readonly undo: AsyncDisposableStack
}

/** Stores log records unless that is switched off. At the end the last ones get a second. */
export function openHistory(config: HubConfig, { hubLog, bus, durations, undo }: HistoryParts): History | undefined {
  const { dataDir, logDatabase, logRetentionMs: retentionMs, historyMaxBytes: maxBytes } = config
  const { logTable: table = 'log_record', logIndexes: indexes = [] } = config
  if (logDatabase !== true || retentionMs === undefined || maxBytes === undefined) return undefined
  const folder = join(dataDir, 'history')
  const makeFolder = folderMaker(folder)
  const history = new History(
    {
      ...{ folder, retentionMs, maxBytes, table, indexes },
      ...(config.databaseUrl === undefined ? {} : { databaseUrl: config.databaseUrl }),
    },
    hubLog.with({ component: 'history' }),
  )
  const log = hubLog.with({ component: 'sink:database' })
  const pace = new StoringPace(config.databaseUrl === undefined ? SQLITE_BATCH : POSTGRES_BATCH)
  const queue: SinkQueue = hubLog.feed.add('database', {
    ...HISTORY_QUEUE,
    get maxBatch() {
      return pace.batch
    },
    async send(batch) {
      makeFolder()
      return await history.write(batch, pace.restAfter(queue.arrived))
    },
    changed(state, error) {
      bus.emit('sink.state', null, { sink: 'database', state })
      if (state === 'up') log.info('Log records are stored again')
      else log.error('Log records cannot be stored now; they wait', { error: String(error) })
    },
  })
  const tally = new LogTally()
  hubLog.onCounted(key => tally.add(key))
  history.reads({ queue, tally, durations })
  const timer = setInterval(() => void history.storeNumbers(), SLOT_MS)
  timer.unref()
  undo.defer(async () => {
    clearInterval(timer)
    history.hurry()
    await history.storeNumbers()
    await hubLog.feed.remove('database', config.databaseUrl === undefined ? SINKS_LAST_MS : POSTGRES_LAST_MS)
    await history.close()
  })
  return history
}

/**
 * Creates the folder at once if possible, otherwise with the first call for which it is. Once it existed it is not created
 * again: the data folder may have been moved away.
 */
function folderMaker(folder: string): () => void {
  let isMade = false
  const make = (): void => {
    if (isMade) return
    // Not the folders above it, for the same reason.
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
    isMade = true
  }
  try {
    make()
  } catch {
    // The first batch of records fails for the same reason, and reports it.
  }
  return make
}

/** The part of the configuration about writing records. */
export function logOptions(config: HubConfig) {
  const { logLevel: level, logFormat: format, logFile: file } = config
  const { logRotation: interval = 'daily', logMaxSizeBytes: maxBytes, logMaxFiles: maxFiles } = config
  const isEndless = maxBytes === undefined || maxFiles === undefined
  const rotation = isEndless ? {} : { rotation: { interval, maxBytes, maxFiles, compress: config.logCompress ?? true } }
  return { level, format, ...(file ? { file } : {}), ...rotation }
}

/** A call as the owner of its server may see it: data about the caller's location is left out. */
export function forOwner(record: ToolCallRecord): ToolCallRecord {
  if (record.userId === record.ownerId) return record
  const { client: _, keyId: __, keyLabel: ___, clientName: ____, clientVersion: _____, ...rest } = record
  return rest
}
