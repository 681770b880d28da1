import { existsSync, mkdirSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { PluginLogger } from 'patchbay/contract'
import type { HealthCheck, LogStore, LogStoreFeed, LogStoreSink, MetricSource } from 'patchbay/features'
import { History, type Thread } from './client.ts'
import { byKind, stateOf } from './monitoring.ts'
import type { HistoryOptions } from './protocol.ts'
import { StoringPace } from './storing-pace.ts'

/** Longest wait for the last records to be stored, in milliseconds. */
const LAST_MS = 3_000
/** The same for PostgreSQL, which may not answer at all, and holds up the store's end as well then. */
const POSTGRES_LAST_MS = 500

const QUEUE = { maxRecords: 50_000, maxBytes: 16 * 1024 * 1024 }
/**
 * Records of one transaction of SQLite: about 2 ms of work, for which a call that needs the same processor must wait. With 2,000
 * of them it was 10 ms at a time, and a tenth less for each record.
 */
const SQLITE_BATCH = 150
/** The same for PostgreSQL, whose server does the work: fewer would only cause more round trips. */
const POSTGRES_BATCH = 2_000
/** Time after which numbers are stored, in milliseconds: the length of their slots. */
const SLOT_MS = 10_000

/** An open store. */
export interface OpenHistory {
  readonly store: LogStore
  readonly state: HealthCheck['state']
  /** Sizes of the files, and the number of records that are not stored yet. */
  readonly bytes: MetricSource['numbers']
  readonly behind: MetricSource['numbers']
  /** Stores what waits and closes the files. */
  readonly end: () => Promise<void>
}

/** Opens the store. */
export function openHistory(options: HistoryOptions, log: PluginLogger, openThread: () => Thread): OpenHistory {
  const { folder, databaseUrl } = options
  const makeFolder = folderMaker(folder)
  const history = new History(options, log, openThread)
  const pace = new StoringPace(databaseUrl === undefined ? SQLITE_BATCH : POSTGRES_BATCH)
  let feed: LogStoreFeed | undefined
  const timer = setInterval(() => void history.storeNumbers(), SLOT_MS)
  timer.unref()
  const sink: LogStoreSink = {
    queue: QUEUE,
    get maxBatch() {
      return pace.batch
    },
    opened(opened) {
      feed = opened
      history.reads({ queue: opened, tally: opened.tally, durations: opened.durations })
    },
    async write(batch) {
      makeFolder()
      return await history.write(batch, pace.restAfter(feed?.arrived ?? 0))
    },
  }
  const end = async (): Promise<void> => {
    clearInterval(timer)
    history.hurry()
    await history.storeNumbers()
    await feed?.end(databaseUrl === undefined ? LAST_MS : POSTGRES_LAST_MS)
    await history.close()
  }
  return {
    store: { for: actor => history.for(actor), sink },
    state: () => stateOf(history.fault),
    bytes: async () => byKind(await bytesIn(folder)),
    behind: () => [{ value: feed?.waiting ?? 0 }],
    end,
  }
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

/** Sizes of the files by kind of content. */
async function bytesIn(folder: string) {
  const bytes = { records: 0, counts: 0, durations: 0 }
  // Nothing has been stored yet.
  for (const name of await readdir(folder).catch(() => [])) {
    const kind = name.startsWith('log-') ? 'records' : name.startsWith('tally') ? 'counts' : 'durations'
    bytes[kind] += await stat(join(folder, name)).then(
      ({ size }) => size,
      () => 0,
    )
  }
  return bytes
}
