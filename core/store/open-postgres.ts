import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { CutOffClient } from './cut-off-client.ts'
import type { Silence } from './silence.ts'
import type { Tables } from './tables.ts'
import type { WriteWatch } from './write-watch.ts'

const POSTGRES_CONNECT_MS = 4_000
/**
 * The server cancels a statement after this long, in milliseconds; the client stops waiting a little later, in case the server
 * does not.
 */
const POSTGRES_STATEMENT_MS = 3_500
const POSTGRES_SILENCE_MS = 4_000
const POSTGRES_CONNECTIONS = 10

/** Options of a PostgreSQL database. */
export interface PostgresUse {
  readonly watch?: WriteWatch
  readonly silence?: Silence | undefined
  readonly statementMs?: number
}

/** Opens a pool; connects at the first query. */
export function openPostgres(databaseUrl: string, { watch, silence, statementMs }: PostgresUse = {}): Kysely<Tables> {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: POSTGRES_CONNECTIONS,
    connectionTimeoutMillis: POSTGRES_CONNECT_MS,
    statement_timeout: statementMs ?? POSTGRES_STATEMENT_MS,
    query_timeout: statementMs ?? POSTGRES_SILENCE_MS,
    Client: CutOffClient,
    keepAlive: true,
    application_name: 'patchbay',
  })
  // Emitted when an idle connection breaks; the pool drops it, and the next query reports the error.
  pool.on('error', () => {})
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    log: event => {
      if (event.level === 'query') silence?.recordAnswer()
      watch?.note(event)
    },
  })
}
