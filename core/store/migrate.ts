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
import { bundles } from './migrations/0019-bundles.ts'
import { auditAddresses } from './migrations/0020-audit-addresses.ts'
import { oneRightsCap } from './migrations/0021-one-rights-cap.ts'
import { limitedSettings } from './migrations/0022-limited-settings.ts'
import { signIns } from './migrations/0023-sign-ins.ts'
import { serverRequests } from './migrations/0024-server-requests.ts'
import { formerToolNames } from './migrations/0028-former-tool-names.ts'
import { unpackedBundles } from './migrations/0029-unpacked-bundles.ts'
import { waitingRows } from './migrations/0030-waiting-rows.ts'
import { secondFactor } from './migrations/0031-second-factor.ts'
import { bundlesOfPlugin } from './migrations/0032-bundles-of-plugin.ts'
import { groupSelectors } from './migrations/0034-group-selectors.ts'
import { shares } from './migrations/sharing/0033-shares.ts'
import { teamSources } from './migrations/sharing/0035-team-sources.ts'
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
    '0019-bundles': bundles(dialect),
    '0020-audit-addresses': auditAddresses,
    '0021-one-rights-cap': oneRightsCap,
    '0022-limited-settings': limitedSettings,
    '0023-sign-ins': signIns,
    '0024-server-requests': serverRequests,
    '0028-former-tool-names': formerToolNames,
    '0029-unpacked-bundles': unpackedBundles,
    '0030-waiting-rows': waitingRows,
    '0031-second-factor': secondFactor,
    '0032-bundles-of-plugin': bundlesOfPlugin,
    '0033-shares': shares,
    '0034-group-selectors': groupSelectors,
    '0035-team-sources': teamSources,
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

/** Brings the tables to the newest schema, all or nothing. Throws the database's own error. */
export async function migrateToLatest(db: Kysely<Tables>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  const known = migrations(dialect)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => known } })
  const { error } = await migrator.migrateToLatest()
  if (!error) return
  if (error instanceof Error && /previously executed migration/.test(error.message)) {
    throw newerStore(error)
  }
  throw error
}

/** Error for a database with a schema change that this version does not have. */
export function newerStore(cause?: unknown): StoreOpenError {
  return new StoreOpenError(
    'store_newer',
    'The database was written by a newer Patchbay: it holds a change of its tables that this one does not know. Nothing was changed: run that version, or restore a backup that this one wrote',
    cause,
  )
}
