import type { Kysely } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { StoreOpenError } from './errors.ts'
import { firstTables } from './migrations/0001-first-tables.ts'
import { userGrants } from './migrations/0002-user-grants.ts'
import { toolDefinitions } from './migrations/0003-tool-definitions.ts'
import { serverEra } from './migrations/0004-server-era.ts'
import { ownerRights } from './migrations/0005-owner-rights.ts'
import { serverDocuments } from './migrations/0006-server-documents.ts'
import { catalogParts } from './migrations/0007-catalog-parts.ts'
import { clientSessions } from './migrations/0008-client-sessions.ts'
import { askingAndLostMembers } from './migrations/0009-asking-and-lost-members.ts'
import { documentParts } from './migrations/0010-document-parts.ts'
import { alerts } from './migrations/0013-alerts.ts'
import { ownedSettings } from './migrations/0014-owned-settings.ts'
import { imports } from './migrations/0015-imports.ts'
import type { Tables } from './tables.ts'

/** All migrations in order. A released one is never changed. */
function migrations(dialect: 'sqlite' | 'postgres'): Record<string, Migration> {
  return {
    '0001-first-tables': firstTables(dialect),
    '0002-user-grants': userGrants,
    '0003-tool-definitions': toolDefinitions,
    '0004-server-era': serverEra,
    '0005-owner-rights': ownerRights,
    '0006-server-documents': serverDocuments(dialect),
    '0007-catalog-parts': catalogParts,
    '0008-client-sessions': clientSessions,
    '0009-asking-and-lost-members': askingAndLostMembers,
    '0010-document-parts': documentParts(dialect),
    '0013-alerts': alerts,
    '0014-owned-settings': ownedSettings,
    '0015-imports': imports,
  }
}

/** The names of all changes of the tables, in order. */
export function schemaNames(): readonly string[] {
  return Object.keys(migrations('sqlite'))
}

/** Brings empty tables to the schema after this change. Throws the database's own error. */
export async function migrateTo(db: Kysely<Tables>, dialect: 'sqlite' | 'postgres', name: string): Promise<void> {
  const known = migrations(dialect)
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => known } }).migrateTo(name)
  if (error) throw error
}

/** Brings the tables to the newest schema, one transaction per migration. Throws the database's own error. */
export async function migrateToLatest(db: Kysely<Tables>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  const known = migrations(dialect)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => known } })
  const { error } = await migrator.migrateToLatest()
  if (!error) return
  if (error instanceof Error && /previously executed migration/.test(error.message)) {
    throw new StoreOpenError(
      'store_unavailable',
      'The database was written by a newer Patchbay: it holds a change of its tables that this one does not know',
      error,
    )
  }
  throw error
}
