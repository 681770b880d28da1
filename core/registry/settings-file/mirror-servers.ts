import { randomUUID } from 'node:crypto'
import { type FieldError, HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord, ServerSettings } from '../../contract/records.ts'
import { forbiddenKey } from '../../domain/json/json-guard.ts'
import { valueAt } from '../../domain/json/json-pointer.ts'
import { checkName, formatRef, isNameProblem, nameKey, quoteName } from '../../domain/names.ts'
import {
  emptySettings,
  flattenServerBody,
  type ParsedServerBody,
  readServerBody,
  SERVER_JSON,
} from '../../domain/server/body.ts'
import { cappedRights } from '../../domain/server/owner-rights.ts'
import { secretFields } from '../../domain/server/secrets.ts'
import { WORK_FOLDER } from '../../domain/server/spawn-policy.ts'
import { normalForm } from '../../transport-kit/normal-form.ts'
import type { FileState } from '../api.ts'
import { timestamp } from '../context.ts'
import { touchGroups } from '../groups/group-events.ts'
import { rememberLostMembers } from '../groups/lost-members.ts'
import { fileOwner, type Owner, ownerOf } from '../owners.ts'
import { type FileOrigin, fileOrigin, type ServerRow, serverColumns, serverRecord } from '../rows.ts'
import { groupsWith, selectServers } from '../server-rows.ts'
import { withDocumentCheck } from '../servers/document-check.ts'
import { insertDocumentWithParts } from '../servers/document-parts.ts'
import { fullyFilled, keepDocument, type NewDocument, takeDocument, writeDocument } from '../servers/documents.ts'
import {
  type HeldRights,
  heldAfterMove,
  heldColumns,
  heldRights,
  NO_LIMITS,
  settingsAwaitingReview,
} from '../servers/held-rights.ts'
import { checkServerRights } from '../servers/server-rights.ts'
import {
  changedFields,
  openFileSecrets,
  restoreMasks,
  type SecretPlace,
  sealSettings,
} from '../servers/server-secrets.ts'
import { openapiBlock } from './file-documents.ts'
import { entryOwner, type MirrorRun } from './mirror-run.ts'

/** Limits without documents in entries, which are checked separately. */
const DOCUMENTS = { ...SERVER_JSON.foreign, anyKey: true } as const

type Problem = NonNullable<ServerRecord['problem']>

/** Creates and updates the servers of the file; removes those that left it. */
export async function mirrorServers(run: MirrorRun, entries: FileState['servers']): Promise<void> {
  const rows = await selectServers(run.trx).execute()
  const known = new Map(rows.map(row => [`${row.owner_id}/${row.name_key}`, row]))
  const plainOwner = ownerOf(await fileOwner(run.trx))
  const seen = new Set<string>()
  for (const entry of entries) {
    const owner = await entryOwner(run, entry.owner, plainOwner, errors => report(run, entry, errors))
    if (!owner) continue
    const { name, key, problem } = entryName(entry.name)
    const place = `${owner.id}/${key}`
    if (seen.has(place)) {
      report(run, entry, [{ pointer: '#/name', code: 'duplicate', detail: 'Two entries of one owner have this name' }])
      continue
    }
    seen.add(place)
    const row = known.get(place)
    const id = row?.id ?? randomUUID()
    // Checked again when its plugin runs; until then the stored entry stays.
    if (row && !row.problem && isAbsent(run, entry) && row.transport === entry.body.transport) continue
    const held = row ? heldRights(row) : heldAfterRenaming(rows, entries, plainOwner, owner, key)
    const written = held.cap === undefined ? entry : inOwnFolder(entry)
    const read = readEntry(run, written, { ownerId: owner.id, id }, cappedRights(owner, held.cap), name, problem)
    const settings = held.awaitsReview ? settingsAwaitingReview(read.settings) : read.settings
    await save(run, entry, owner, id, row, { ...read, settings, held })
  }
  await removeVanished(
    run,
    rows.filter(row => row.origin === 'file' && !seen.has(`${row.owner_id}/${row.name_key}`)),
  )
}

/** An invalid name is listed under the nearest valid one. */
function entryName(written: string): { name: string; key: string; problem?: FieldError } {
  const checked = checkName('server', written)
  if (!isNameProblem(checked)) return checked
  const legal = normalForm(written, 'NFC')
    .replace(/[^\p{L}\p{N} _.-]/gu, '-')
    .trim()
    .slice(0, 60)
  const usable = checkName('server', legal)
  const name = isNameProblem(usable) ? 'unnamed' : usable.name
  return { name, key: nameKey(name), problem: { pointer: '#/name', ...checked } }
}

/** The limits of a new entry that belonged to another owner until now: the same as for any other move. */
function heldAfterRenaming(
  rows: readonly ServerRow[],
  entries: FileState['servers'],
  plainOwner: Owner,
  owner: Owner,
  key: string,
): HeldRights {
  const isNamed = (row: ServerRow): boolean =>
    entries.some(
      entry =>
        nameKey(entry.name) === key &&
        (entry.owner === undefined ? row.owner_id === plainOwner.id : nameKey(entry.owner) === row.owner_key),
    )
  const moved = rows.filter(row => row.origin === 'file' && row.name_key === key && !isNamed(row))
  const held = moved.map(row => heldAfterMove(row, owner)).filter(({ awaitsReview }) => awaitsReview)
  return held.find(({ cap }) => cap === 'none') ?? held[0] ?? NO_LIMITS
}

/**
 * Entries of administrators run in the file's folder, which is the default there. A server with only the rights of an
 * ordinary user runs in its own folder, as it did while its owner was one.
 */
function inOwnFolder<Entry extends FileState['servers'][number]>(entry: Entry): Entry {
  const { cwd, ...body } = entry.body
  const isElsewhere = typeof cwd === 'string' && cwd.startsWith('/') && !`${cwd}/`.startsWith(`${WORK_FOLDER}/`)
  return isElsewhere ? { ...entry, body } : entry
}

interface ReadEntry {
  readonly settings: ServerSettings
  readonly document?: NewDocument
  readonly problem?: Problem
}

function readEntry(
  run: MirrorRun,
  entry: FileState['servers'][number],
  place: SecretPlace,
  owner: Owner,
  name: string,
  nameProblem: FieldError | undefined,
): ReadEntry {
  const { sealer, transports } = run.deps
  const forbidden = forbiddenKey(entry.body, DOCUMENTS)
  const errors: FieldError[] = [...(nameProblem ? [nameProblem] : []), ...(forbidden ? [forbidden] : [])]
  const flat = flattenServerBody({ ...entry.body, name }, errors)
  const unmasked = restoreMasks(sealer, secretFields(transports), flat, undefined, errors).flat
  const opened = openFileSecrets(sealer, place, unmasked, errors)
  const read = readServerBody(transports, keepDocument(opened, undefined, errors), errors, {
    unknownFields: 'ignore',
    closedFields: 'ignore',
  })
  const parsed = read && takeChecked(run, entry.body, takeDocument(read), errors)
  const first = errors[0]
  if (!parsed || first) {
    report(run, entry, errors)
    if (isAbsent(run, entry)) {
      const transport = String(entry.body.transport).slice(0, 64)
      return { settings: { ...placeholder(name, flat), transport }, problem: absent(entry) }
    }
    const code = first?.code === 'variable_unknown' ? 'variable_unknown' : 'config_invalid'
    const message = first?.detail ?? 'The entry cannot be read'
    return { settings: placeholder(name, flat), problem: { code, message, pointer: first?.pointer ?? '#' } }
  }
  if (parsed.ignored.length > 0) report(run, entry, parsed.ignored)
  const secrets = parsed.settings.secrets.filter(pointer => typeof valueAt(opened, pointer) === 'string')
  const { document } = parsed
  const problem = refusedBy(run, owner, parsed)
  return {
    settings: { ...parsed.settings, secrets },
    ...(document ? { document } : {}),
    ...(problem ? { problem } : {}),
  }
}

/** Undefined when the entry's document is not valid; the problem is added to `errors`. */
function takeChecked<P extends Parameters<typeof withDocumentCheck>[0]>(
  { documents }: MirrorRun,
  body: JsonObject,
  parsed: P,
  errors: FieldError[],
): P | undefined {
  const block = openapiBlock(body)
  const check = block && documents.get(block)
  const checked = check ? withDocumentCheck(parsed, check) : parsed
  if (!('problem' in checked)) return checked
  errors.push(checked.problem)
  return undefined
}

/** The file grants no rights: an entry that its owner may not have is listed but does not run. */
function refusedBy(
  run: MirrorRun,
  owner: Owner,
  parsed: ParsedServerBody & { readonly document?: NewDocument },
): Problem | undefined {
  try {
    checkServerRights(run.deps, owner, parsed.settings.transport, fullyFilled(parsed))
    return undefined
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    const first = error.errors?.[0]
    const code = first?.code === 'loop_detected' ? 'loop_detected' : error.code
    return { code, message: error.message, ...(first ? { pointer: first.pointer } : {}) }
  }
}

/** True for an entry whose transport no running plugin offers. */
function isAbsent({ deps }: MirrorRun, { body }: FileState['servers'][number]): boolean {
  return typeof body.transport === 'string' && !deps.transports.of(body.transport)
}

function absent({ body }: FileState['servers'][number]): Problem {
  const message = `No plugin offers the transport ${quoteName(String(body.transport))}; it is read when one does`
  return { code: 'transport_unavailable', message, pointer: '#/transport' }
}

/** Listed instead of an entry that cannot be parsed. */
function placeholder(name: string, flat: JsonObject): ServerSettings {
  const isRemote = flat.url !== undefined || flat.openapi !== undefined
  const settings = emptySettings(name, isRemote ? 'streamable-http' : 'stdio')
  return { ...settings, enabled: flat.enabled !== false && flat.disabled !== true }
}

async function save(
  run: MirrorRun,
  entry: FileState['servers'][number],
  owner: Owner,
  id: string,
  row: ServerRow | undefined,
  { settings, document, problem, held }: ReadEntry & { readonly held: HeldRights },
): Promise<void> {
  const { trx, deps } = run
  const before = row && serverRecord(row)
  const sealed = sealSettings(deps.sealer, { ownerId: owner.id, id }, settings, before)
  const file: FileOrigin = entry.owner === undefined ? {} : { owner: entry.owner }
  const at = timestamp(deps)
  const problemText = problem ? JSON.stringify(problem) : null
  const columns = {
    ...serverColumns(sealed, { file }),
    name_key: nameKey(sealed.name),
    ...heldColumns(held),
    origin: 'file' as const,
    problem: problemText,
  }
  const ref = formatRef(owner.name, sealed.name)
  if (!row || !before) {
    await trx
      .insertInto('server')
      .values({ ...columns, id, owner_id: owner.id, revision: 1, created_at: at, updated_at: at })
      .execute()
    if (document) await insertDocumentWithParts(trx, document)
    await writeDocument(trx, id, sealed, document)
    run.applied.push(`servers/${ref}`)
    run.after(() => deps.bus.emit('server.created', owner.id, { serverId: id, name: sealed.name }, audience(sealed)))
    return
  }
  const changed = [...changedFields(before, sealed), ...(row.problem === problemText ? [] : ['problem'])]
  const sameOrigin = row.origin === 'file' && fileOrigin(row)?.owner === file.owner
  if (changed.length === 0 && sameOrigin) return
  const revision = row.revision + 1
  await trx
    .updateTable('server')
    .set({ ...columns, revision, updated_at: at })
    .where('id', '=', id)
    .execute()
  if (changed.includes('openapi')) {
    if (document) await insertDocumentWithParts(trx, document)
    await writeDocument(trx, id, sealed, document)
  }
  run.applied.push(`servers/${ref}`)
  const payload = { serverId: id, name: sealed.name, revision, changed }
  const seen = before.visibility === 'public' ? 'public' : audience(sealed)
  run.after(() => deps.bus.emit('server.updated', owner.id, payload, seen))
}

async function removeVanished(run: MirrorRun, rows: readonly ServerRow[]): Promise<void> {
  if (rows.length === 0) return
  const { trx, deps } = run
  const ids = rows.map(row => row.id)
  const groups = await groupsWith(trx, ids)
  await rememberLostMembers(trx, ids, { at: timestamp(deps), shares: deps.shares })
  await trx.deleteFrom('server').where('id', 'in', ids).execute()
  for (const row of rows) {
    const record = serverRecord(row)
    run.applied.push(`servers/${formatRef(record.ownerName, record.name)}`)
    run.after(() => {
      deps.bus.emit('server.removed', row.owner_id, { serverId: row.id, name: row.name }, audience(record))
    })
  }
  await touchGroups(deps, trx, run.after, groups)
}

function audience(settings: Pick<ServerSettings, 'visibility'>): 'public' | 'owner' {
  return settings.visibility === 'public' ? 'public' : 'owner'
}

function report(run: MirrorRun, entry: FileState['servers'][number], errors: readonly FieldError[]): void {
  const key = entry.owner === undefined ? entry.name : `${entry.owner}::${entry.name}`
  run.problems.push({ entry: `mcpServers[${quoteName(key)}]`, errors })
}
