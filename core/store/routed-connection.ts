import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'

/** A statement that changes nothing. Others that do not begin so use the connection that writes, which is always correct. */
const READS = /^select\b/i

/**
 * Connection of a statement or a transaction of Kysely: reads outside of transactions use the connection that reads, all other
 * statements lock and use the one that writes.
 *
 * As with PostgreSQL, a read beside an open transaction sees what was committed before, and one after the commit sees the
 * change.
 */
export class RoutedConnection implements DatabaseConnection {
  readonly #reader: DatabaseConnection | undefined
  readonly #lockWriter: () => Promise<DatabaseConnection>
  #writer: Promise<DatabaseConnection> | undefined

  constructor(reader: DatabaseConnection | undefined, lockWriter: () => Promise<DatabaseConnection>) {
    this.#reader = reader
    this.#lockWriter = lockWriter
  }

  /** True when it has locked the connection that writes. */
  get usesWriter(): boolean {
    return this.#writer !== undefined
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return await (await this.#connectionFor(query)).executeQuery<R>(query)
  }

  async *streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    yield* (await this.#connectionFor(query)).streamQuery<R>(query, chunkSize)
  }

  #connectionFor({ sql }: CompiledQuery): DatabaseConnection | Promise<DatabaseConnection> {
    // The first statement of a transaction, which begins it, locks the one that writes.
    if (this.#reader && this.#writer === undefined && READS.test(sql)) return this.#reader
    this.#writer ??= this.#lockWriter()
    return this.#writer
  }
}
