import type { Kysely } from 'kysely'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { Tables } from '../../store/tables.ts'

/** Tables with one row per server, of findings that a probe can restore. */
type Table = 'server_era' | 'server_asking'

/** Stores one row per server over restarts. Writes are not awaited, and a failed one only logs a warning. */
export abstract class ServerRows<T extends Table> {
  protected readonly db: Kysely<Tables>
  protected readonly log: PluginLogger
  readonly #table: T
  readonly #what: string
  readonly #writing = new Set<Promise<void>>()

  /** `what` names in the warning what could not be stored. */
  constructor(db: Kysely<Tables>, log: PluginLogger, table: T, what: string) {
    this.db = db
    this.log = log
    this.#table = table
    this.#what = what
  }

  remove(serverId: string): void {
    this.#write(this.db.deleteFrom<Table>(this.#table).where('server_id', '=', serverId).execute())
  }

  /** Resolves when everything saved so far is written. */
  async flush(): Promise<void> {
    await Promise.all(this.#writing)
  }

  protected put(row: Tables[T]): void {
    this.#write(
      this.db
        .insertInto<Table>(this.#table)
        .values(row)
        .onConflict(conflict => conflict.column('server_id').doUpdateSet(row))
        .execute(),
    )
  }

  #write(work: Promise<unknown>): void {
    const writing = work.then(
      () => undefined,
      (error: unknown) => this.log.warn(`${this.#what} could not be stored`, { error: String(error) }),
    )
    this.#writing.add(writing)
    void writing.then(() => this.#writing.delete(writing))
  }
}
