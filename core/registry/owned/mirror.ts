import { randomUUID } from 'node:crypto'
import type { FileEntry } from '../../config/shape/sections.ts'
import { type FieldError, HubError } from '../../contract/errors.ts'
import { canonical } from '../../domain/json/canonical-json.ts'
import { nameKey } from '../../domain/names.ts'
import type { OwnedSettingTable } from '../../store/tables.ts'
import type { Writer } from '../../store/transact.ts'
import type { Owner } from '../owners.ts'
import type { RecordKind } from '../record-kinds.ts'
import { type OwnedSetting, type Prepare, settingOf } from './settings.ts'

/** An entry that cannot be used, with pointers into the settings file. */
export interface FileProblem {
  readonly entry: string
  readonly errors: readonly FieldError[]
}

/** Records of one kind that the settings file holds. */
export interface MirroredKind {
  readonly kind: Pick<RecordKind, 'kind'>
  readonly entries: readonly FileEntry[]
  /** Throws `validation_failed` for an entry with mistakes. */
  prepare(entry: FileEntry): Prepare
  /** Decrypted secrets, to detect changes. */
  secrets(setting: OwnedSetting): Readonly<Record<string, string>>
  /** Runs before one is removed. */
  removing?(trx: Writer, id: string): Promise<unknown>
}

/** Result of mirroring. */
export interface Mirrored {
  readonly problems: readonly FileProblem[]
  readonly changed: boolean
}

/**
 * Stores the entries of the settings file as records of this owner, with their previous ids. A record of the same name from the
 * API is taken over. An entry with an error changes nothing: the previous one stays. Entries that were removed from the file are
 * deleted.
 */
export async function mirrorOwned(trx: Writer, owner: Owner, mirrored: MirroredKind): Promise<Mirrored> {
  const { kind, entries } = mirrored
  const rows = await rowsOf(trx, owner, kind)
  const before = new Map(rows.map(row => [row.name_key, row]))
  const named = new Set<string>()
  const problems: FileProblem[] = []
  let changed = false
  for (const entry of entries) {
    const key = nameKey(String(entry.body.name ?? ''))
    named.add(key)
    try {
      changed = (await put(trx, owner, mirrored, entry, before.get(key))) || changed
    } catch (error) {
      problems.push({ entry: entry.pointer, errors: mistakesOf(error, entry.pointer) })
    }
  }
  for (const { id, origin, name_key: key } of before.values()) {
    if (origin !== 'file' || named.has(key)) continue
    await mirrored.removing?.(trx, id)
    await trx.deleteFrom('owned_setting').where('id', '=', id).execute()
    changed = true
  }
  return { problems, changed }
}

/** The names of an owner's records of this kind. */
export async function namesOf(trx: Writer, owner: Owner, kind: Pick<RecordKind, 'kind'>): Promise<readonly string[]> {
  return (await rowsOf(trx, owner, kind)).map(({ name }) => name)
}

function rowsOf(trx: Writer, owner: Owner, { kind }: Pick<RecordKind, 'kind'>): Promise<readonly OwnedSettingTable[]> {
  const rows = trx.selectFrom('owned_setting').selectAll()
  return rows.where('owner_id', '=', owner.id).where('kind', '=', kind).execute()
}

/** Returns true if anything was written. */
async function put(
  trx: Writer,
  owner: Owner,
  mirrored: MirroredKind,
  entry: FileEntry,
  row: OwnedSettingTable | undefined,
): Promise<boolean> {
  const id = row?.id ?? randomUUID()
  const before = row && settingOf(row, owner)
  const { name, body, secrets } = mirrored.prepare(entry)(owner, { owner: owner.id, record: id }, before)
  const at = new Date().toISOString()
  const written = {
    name,
    name_key: nameKey(name),
    body: JSON.stringify(body),
    secrets,
    origin: 'file' as const,
    limited: 0,
  }
  if (!before) {
    const made = { id, owner_id: owner.id, kind: mirrored.kind.kind, revision: 1, created_at: at, updated_at: at }
    await trx
      .insertInto('owned_setting')
      .values({ ...made, ...written })
      .execute()
    return true
  }
  const secretsOf = (setting: OwnedSetting): string => canonical(mirrored.secrets(setting))
  const isSame =
    before.origin === 'file' &&
    !before.limited &&
    before.name === name &&
    canonical(before.body) === canonical(body) &&
    secretsOf(before) === secretsOf({ ...before, body, secrets })
  if (isSame) return false
  const change = { ...written, revision: before.revision + 1, updated_at: at }
  await trx.updateTable('owned_setting').set(change).where('id', '=', id).execute()
  return true
}

/** The wrong fields with pointers into the file. Throws any error that is not in the entry. */
function mistakesOf(error: unknown, pointer: string): readonly FieldError[] {
  if (!(error instanceof HubError) || error.status >= 500) throw error
  if (!error.errors?.length) return [{ pointer, code: 'format', detail: error.message }]
  return error.errors.map(one => ({ ...one, pointer: `${pointer}${one.pointer.replace(/^#/, '')}` }))
}
