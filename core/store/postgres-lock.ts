import { hostname } from 'node:os'
import { CutOffClient } from './cut-off-client.ts'
import { StoreOpenError } from './errors.ts'

/** Separates this lock from advisory locks of other programs on the same database; the bytes of `pbay`. */
const LOCK_CLASS = 0x70_62_61_79
/** A hub per schema: several may share one database by different search paths. */
const SCHEMA_KEY = "hashtext(coalesce(current_schema(), ''))"
const CONNECT_MS = 4_000
/** PostgreSQL notices within this time that a killed hub's connection is closed, even in the middle of a statement. */
const TAKE_MS = 3_000
const TAKE_AGAIN_MS = 100
/** Interval at which the connection is checked, in milliseconds: an idle one can break without either side noticing. */
const CHECK_EVERY_MS = 10_000
const STATEMENT_MS = 4_000
const RECONNECT_MS = 250
const END_MS = 1_000
/** Makes the server release the lock of a hub whose machine vanished within about half a minute. */
const KEEP_ALIVE = 'set tcp_keepalives_idle = 15; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3'

/** At most 63 bytes, PostgreSQL's limit. */
const OWN_NAME = `patchbay on ${hostname().slice(0, 32)}, process ${process.pid}`

/** The connection that has the lock. */
interface Holder {
  readonly backend: number
  readonly name: string
  readonly address: string
  readonly since: string
}

/** The lock of one process on its PostgreSQL database. */
export interface DatabaseLock {
  /** False while the connection that holds the lock is lost, and for good once another hub took it. */
  held(): boolean
  /** Resolves when another hub took the lock while the connection was lost: this one must end. Never rejects. */
  readonly taken: Promise<StoreOpenError>
  /** Releases the lock. Idempotent. */
  release(): Promise<void>
}

/**
 * Ensures that one hub at a time uses a database (and schema), by an advisory lock of PostgreSQL that ends with its connection.
 * A lost connection is opened again and takes the lock again. Throws StoreOpenError `database_locked`, which names the holder,
 * and the driver's error when the database cannot be reached.
 */
export async function lockPostgres(databaseUrl: string): Promise<DatabaseLock> {
  const lock = new PostgresLock(databaseUrl)
  await lock.begin()
  return lock
}

class PostgresLock implements DatabaseLock {
  readonly #url: string
  readonly #taken = Promise.withResolvers<StoreOpenError>()
  #client: CutOffClient | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The server's process for the connection that holds or held the lock. */
  #backend: number | undefined
  #ended = false

  constructor(url: string) {
    this.#url = url
  }

  get taken(): Promise<StoreOpenError> {
    return this.#taken.promise
  }

  held(): boolean {
    return this.#client !== undefined
  }

  async begin(): Promise<void> {
    const deadline = performance.now() + TAKE_MS
    for (;;) {
      const holder = await this.#take()
      if (holder === undefined) return
      if (performance.now() > deadline) throw lockedBy(holder)
      await new Promise(resolve => setTimeout(resolve, TAKE_AGAIN_MS))
    }
  }

  async release(): Promise<void> {
    this.#ended = true
    clearTimeout(this.#timer)
    const client = this.#client
    this.#client = undefined
    if (client) await ended(client)
  }

  /** Resolves with the holder when another connection has the lock. */
  async #take(): Promise<Holder | undefined> {
    const client = new CutOffClient({
      connectionString: this.#url,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: STATEMENT_MS,
      keepAlive: true,
      application_name: OWN_NAME,
    })
    try {
      await client.connect()
      const { rows } = await client.query(
        `select pg_try_advisory_lock(${LOCK_CLASS}, ${SCHEMA_KEY}) as taken, pg_backend_pid() as backend`,
      )
      if (rows[0]?.taken !== true) {
        const holder = await holderOf(client)
        await ended(client)
        return holder
      }
      await client.query(KEEP_ALIVE)
      this.#backend = Number(rows[0].backend)
    } catch (error) {
      await ended(client)
      throw error
    }
    if (this.#ended) {
      await ended(client)
      return undefined
    }
    this.#client = client
    client.once('end', () => this.#lost(client))
    this.#checkLater(client)
    return undefined
  }

  #checkLater(client: CutOffClient): void {
    this.#timer = setTimeout(() => {
      client.query('select 1').then(
        () => this.#client === client && this.#checkLater(client),
        () => this.#lost(client),
      )
    }, CHECK_EVERY_MS)
    this.#timer.unref()
  }

  #lost(client: CutOffClient): void {
    if (this.#client !== client) return
    this.#client = undefined
    clearTimeout(this.#timer)
    void ended(client)
    this.#again(0)
  }

  #again(afterMs: number): void {
    if (this.#ended) return
    this.#timer = setTimeout(() => {
      this.#take().then(
        holder => {
          if (holder === undefined) return
          // The server has not noticed yet that the old connection is closed.
          if (holder.backend === this.#backend && holder.name === OWN_NAME) this.#again(RECONNECT_MS)
          else this.#taken.resolve(lockedBy(holder))
        },
        // The database is unreachable; it is tried until it responds.
        () => this.#again(RECONNECT_MS),
      )
    }, afterMs)
    this.#timer.unref()
  }
}

function lockedBy({ name, address, since }: Holder): StoreOpenError {
  const parts = [
    name || 'it has just ended',
    ...(address ? [`from ${address}`] : []),
    ...(since ? [`since ${since}`] : []),
  ]
  return new StoreOpenError(
    'database_locked',
    `Another hub uses this PostgreSQL database (${parts.join(', ')}); stop it, or set DATABASE_URL to another database`,
  )
}

/** The name is empty if the holder has ended meanwhile, or belongs to a role that is not visible to this one. */
async function holderOf(client: CutOffClient): Promise<Holder> {
  const { rows } = await client.query(
    `select a.pid as backend, a.application_name as name, host(a.client_addr) as address, a.backend_start as since
     from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and l.granted and l.classid = ${LOCK_CLASS}
       and l.objid::bigint = (${SCHEMA_KEY}::bigint & 4294967295)
       and l.database = (select oid from pg_database where datname = current_database())`,
  )
  const { backend, name, address, since } = rows[0] ?? {}
  return {
    backend: Number(backend),
    name: String(name ?? ''),
    address: String(address ?? ''),
    since: since instanceof Date ? since.toISOString() : '',
  }
}

/** Ends the connection, without waiting for a server that does not respond. */
async function ended(client: CutOffClient): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, END_MS)
  await Promise.race([client.end().catch(() => undefined), late.promise])
  clearTimeout(timer)
  client.cut()
}
