import { Buffer } from 'node:buffer'
import { type RawBuilder, sql } from 'kysely'
import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import type { ServerSettings } from '../contract/records.ts'
import { storedDocument } from '../domain/server/openapi.ts'
import type { UserTable } from '../store/people-tables.ts'
import type { ServerTable } from '../store/tables.ts'
import type { Reader } from '../store/transact.ts'
import type { Owner } from './owners.ts'

/** One server's share of its owner's storage quota, in bytes. */
export interface ServerBytes {
  /** Configuration without the document; every list reads it. */
  readonly config: number
  readonly document: number
}

/** Charged for each row besides its texts: ids, times, and its entries in indexes. */
const ROW_BYTES = 384

const NO_BYTES: ServerBytes = { config: 0, document: 0 }

/** For a server's row, or the columns of a new one. */
export function serverBytes({ config }: Pick<ServerTable, 'config'>): ServerBytes {
  const stored = JSON.parse(config) as ServerSettings
  return { config: Buffer.byteLength(config), document: storedDocument(stored.config)?.bytes ?? 0 }
}

/**
 * Checks the owner's storage quota for `added` minus `freed`, before anything is written. A change that does not grow
 * is never rejected. Administrators have no quota. Throws `quota_stored_bytes`.
 */
export async function checkServerBytes(
  db: Reader,
  owner: Pick<Owner, 'id' | 'name' | 'role'>,
  added: ServerBytes,
  freed: ServerBytes = NO_BYTES,
): Promise<void> {
  const configGrowth = added.config - freed.config
  const growth = configGrowth + added.document - freed.document
  if (owner.role === 'admin' || (growth <= 0 && configGrowth <= 0)) return
  const used = await storedBytes(db, owner.id)
  const total = used.config + used.documents + used.others + growth
  if (growth > 0 && total > LIMITS.storedBytesPerUser) throw tooMuchStored(owner.name, total)
  const config = used.config + configGrowth
  if (configGrowth <= 0 || config <= LIMITS.serverConfigBytesPerUser) return
  const most = LIMITS.serverConfigBytesPerUser
  const message = `The servers of one user may have ${most} bytes of configuration besides OpenAPI documents, and with this change those of ${owner.name} would have ${config}`
  throw new HubError('quota_stored_bytes', message)
}

/**
 * Runs a write of anything but servers and then checks the owner's quotas: growth beyond a limit is rejected,
 * which rolls the transaction back. Throws `quota_stored_bytes`.
 */
export async function withinStoredBytes<T>(
  db: Reader,
  owner: Pick<Owner, 'id' | 'name' | 'role'>,
  work: () => Promise<T>,
): Promise<T> {
  if (owner.role === 'admin') return work()
  const before = await storedBytes(db, owner.id)
  const result = await work()
  const after = await storedBytes(db, owner.id)
  const total = sum(after)
  if (total > sum(before) && total > LIMITS.storedBytesPerUser) throw tooMuchStored(owner.name, total)
  return result
}

/** Checks the heir's quota for a leaving user's servers and groups. Throws `quota_stored_bytes`. */
export async function checkInheritedBytes(db: Reader, giverId: string, heir: UserTable): Promise<void> {
  if (heir.role === 'admin') return
  const { config, documents } = await storedBytes(db, giverId)
  const name = heir.name ?? `#${heir.number}`
  await checkServerBytes(db, { id: heir.id, name, role: heir.role }, { config, document: documents })
}

interface Account {
  readonly config: number
  readonly documents: number
  /**
   * Groups with their members, settings, keys, monitoring, assistant endpoints and imports, and for every row, also
   * those of servers, its names and {@link ROW_BYTES}.
   */
  readonly others: number
}

/** Why a user may not store this much; `bytes`: of all that the user would have. */
function tooMuchStored(name: string, bytes: number): HubError {
  const message = `A user may have ${LIMITS.storedBytesPerUser} bytes stored besides programs (storedBytesPerUser), and with this change ${name} would have ${bytes}`
  return new HubError('quota_stored_bytes', message)
}

function sum({ config, documents, others }: Account): number {
  return config + documents + others
}

/** Stored bytes of a user. The database has the lengths without reading the values. */
export async function storedBytes(db: Reader, userId: string): Promise<Account> {
  const ofServers = db.selectFrom('server').where('owner_id', '=', userId)
  const servers = ofServers.select(sumBytes('server.config').as('sum'))
  const names = ofServers.select(sumRows('server.name', 'server.name_key', 'server.problem').as('sum'))
  const ofDocuments = ofServers.innerJoin('openapi_document', 'openapi_document.server_id', 'server.id')
  const documents = ofDocuments.select(({ fn }) => fn.sum<number | null>('openapi_document.bytes').as('sum'))
  const documentRows = ofDocuments.select(sumRows('openapi_document.sha256').as('sum'))
  const ofGroups = db.selectFrom('server_group').where('owner_id', '=', userId)
  const groups = ofGroups.select(
    sumRows(
      ...['name', 'name_key', 'description', 'instructions', 'tags', 'selector'].map(name => `server_group.${name}`),
    ).as('sum'),
  )
  const members = ofGroups
    .innerJoin('group_member', 'group_member.group_id', 'server_group.id')
    .select(
      sumRows(
        ...['alias', 'tools', 'prompts', 'resources', 'former_prefix', 'selected_by'].map(
          name => `group_member.${name}`,
        ),
      ).as('sum'),
    )
  const lost = ofGroups
    .innerJoin('group_lost_member', 'group_lost_member.group_id', 'server_group.id')
    .select(sumRows('group_lost_member.server_name').as('sum'))
  const formerPaths = ofGroups
    .innerJoin('group_former_path', 'group_former_path.group_id', 'server_group.id')
    .select(sumRows('group_former_path.path_key').as('sum'))
  const settings = db.selectFrom('setting').where('scope', '=', userId).select(sumRows('key', 'value').as('sum'))
  const keys = db.selectFrom('access_key').where('owner_id', '=', userId).select(sumRows('label', 'scopes').as('sum'))
  const owned = db
    .selectFrom('owned_setting')
    .where('owner_id', '=', userId)
    .select(sumRows('name', 'name_key', 'body', 'secrets').as('sum'))
  const silences = db
    .selectFrom('alert_silence')
    .where('owner_id', '=', userId)
    .select(sumRows('rule', 'server', 'comment').as('sum'))
  const imports = db.selectFrom('import_run').where('owner_id', '=', userId).select(sumRows('source', 'made').as('sum'))
  const others = { names, documentRows, groups, members, lost, formerPaths, settings, keys, owned, silences, imports }
  const sums = await db
    .selectNoFrom([
      servers.as('servers'),
      documents.as('documents'),
      ...Object.entries(others).map(([name, query]) => query.as(name)),
    ])
    .executeTakeFirstOrThrow()
  const bytes = (name: string): number => Number((sums as Readonly<Record<string, number | string | null>>)[name] ?? 0)
  return {
    config: bytes('servers'),
    documents: bytes('documents'),
    others: Object.keys(others).reduce((sum, name) => sum + bytes(name), 0),
  }
}

/**
 * SQL for the total UTF-8 bytes of some columns, or null without rows. Neither database reads the values themselves:
 * SQLite has their lengths in the row's header, PostgreSQL in the pointers to values stored out of line.
 */
function sumBytes(...columns: readonly string[]): RawBuilder<number | string | null> {
  const lengths = columns.map(column => sql`coalesce(octet_length(${sql.ref(column)}), 0)`)
  return sql`sum(${sql.join(lengths, sql` + `)})`
}

/** Like {@link sumBytes}, plus {@link ROW_BYTES} for each row. */
function sumRows(...columns: readonly string[]): RawBuilder<number | string | null> {
  return sql`coalesce(${sumBytes(...columns)}, 0) + ${ROW_BYTES} * count(*)`
}
