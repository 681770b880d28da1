import {
  type CompiledQuery,
  type DatabaseConnection,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { PluginTables, TableReader, TableWriter } from '../../contract/tables.ts'
import type { Store } from '../../store/open.ts'
import { type Reader, read, write } from '../../store/transact.ts'
import { ownStatement } from './guard.ts'

/** The tables of a plugin. Throws Error for statements that reach others. */
export function ownTables<Schema>(plugin: string, store: Store): PluginTables<Schema> {
  return {
    read: work => read(store, db => work(guarded<Schema>(plugin, store.dialect, db) as TableReader<Schema>)),
    write: work =>
      write(store, (trx, after) => work(guarded<Schema>(plugin, store.dialect, trx) as TableWriter<Schema>, after)),
  }
}

/** Queries of a plugin's own tables on this database or transaction; each statement is checked where it becomes SQL. */
export function guarded<Schema>(plugin: string, dialect: Store['dialect'], db: Reader): Kysely<Schema> {
  const compiler = dialect === 'postgres' ? new PostgresQueryCompiler() : new SqliteQueryCompiler()
  const checked = new WeakSet<CompiledQuery>()
  const connection: DatabaseConnection = {
    async executeQuery<R>(query: CompiledQuery) {
      if (!checked.has(query)) throw new Error(`A statement of plugin "${plugin}" was not made by its own tables`)
      return db.executeQuery<R>(query as CompiledQuery<R>)
    },
    streamQuery() {
      throw new Error('Rows of a plugin’s tables cannot be streamed: read them in pages')
    },
  }
  const refuse = async () => {
    throw new Error('A transaction of a plugin begins by "write"')
  }
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => (dialect === 'postgres' ? new PostgresAdapter() : new SqliteAdapter()),
      createIntrospector: own => (dialect === 'postgres' ? new PostgresIntrospector(own) : new SqliteIntrospector(own)),
      createQueryCompiler: () => ({
        compileQuery(node, queryId) {
          const compiled = compiler.compileQuery(ownStatement(plugin, node, queryId), queryId)
          checked.add(compiled)
          return compiled
        },
      }),
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => connection,
        releaseConnection: async () => {},
        beginTransaction: refuse,
        commitTransaction: refuse,
        rollbackTransaction: refuse,
        destroy: async () => {},
      }),
    },
  })
}
