import { randomUUID } from 'node:crypto'
import type { FileAlert, FileAlerts } from '../config/shape/alerts.ts'
import { type FieldError, HubError } from '../contract/errors.ts'
import type { Actor } from '../contract/records.ts'
import { canonical } from '../domain/json/canonical-json.ts'
import { nameKey } from '../domain/names.ts'
import { fileOwner, type Owner, ownerOf } from '../registry/owners.ts'
import type { Sealer } from '../secrets/seal.ts'
import type { Store } from '../store/open.ts'
import type { AlertSettingTable } from '../store/tables.ts'
import { type Writer, write } from '../store/transact.ts'
import { type ChannelTypes, channelSecrets, prepareChannel } from './channels.ts'
import type { AlertFacts } from './facts.ts'
import { endIncidents } from './incidents.ts'
import { checkChannels, prepareRule } from './rules.ts'
import { type Prepare, settingOf } from './settings.ts'

const FILE: Actor = { kind: 'system', purpose: 'settings file' }

/** An entry that cannot be used, with pointers into the settings file. */
export interface FileProblem {
  readonly entry: string
  readonly errors: readonly FieldError[]
}

/** What mirroring needs. */
export interface FileSettingsDeps {
  readonly store: Store
  readonly sealer: Sealer
  readonly types: () => ChannelTypes
  readonly facts: Pick<AlertFacts, 'unavailable'>
}

/**
 * Makes the rules and channels of the settings file those of the owner of the file's entries, under the ids that they had.
 * One of the same name that was made by the API is taken over. An entry with a mistake changes nothing: the one before
 * stays. Those that the file does not name any more are removed. Returns the entries with mistakes, and whether anything was
 * written.
 */
export async function mirrorAlerts(
  deps: FileSettingsDeps,
  file: FileAlerts,
): Promise<{ readonly problems: readonly FileProblem[]; readonly changed: boolean }> {
  return write(deps.store, async trx => {
    const owner = ownerOf(await fileOwner(trx))
    const run = new Mirror(deps, trx, owner)
    await run.mirror('channel', file.channels, ({ body }) => prepareChannel(FILE, body, deps.types(), deps.sealer))
    const known = (await run.rows('channel')).map(({ name }) => name)
    await run.mirror('rule', file.rules, ({ body }) => {
      const prepare = prepareRule(body, deps.facts)
      checkChannels(body, known)
      return prepare
    })
    return { problems: run.problems, changed: run.changed }
  })
}

class Mirror {
  readonly problems: FileProblem[] = []
  changed = false
  readonly #sealer: Sealer
  readonly #trx: Writer
  readonly #owner: Owner

  constructor({ sealer }: FileSettingsDeps, trx: Writer, owner: Owner) {
    this.#sealer = sealer
    this.#trx = trx
    this.#owner = owner
  }

  rows(kind: AlertSettingTable['kind']): Promise<readonly AlertSettingTable[]> {
    const rows = this.#trx.selectFrom('alert_setting').selectAll()
    return rows.where('owner_id', '=', this.#owner.id).where('kind', '=', kind).execute()
  }

  async mirror(
    kind: AlertSettingTable['kind'],
    entries: readonly FileAlert[],
    prepareOf: (entry: FileAlert) => Prepare,
  ): Promise<void> {
    const before = new Map((await this.rows(kind)).map(row => [row.name_key, row]))
    const named = new Set<string>()
    for (const entry of entries) {
      const key = nameKey(String(entry.body.name ?? ''))
      named.add(key)
      try {
        await this.#put(kind, prepareOf(entry), before.get(key))
      } catch (error) {
        this.problems.push({ entry: entry.pointer, errors: mistakesOf(error, entry.pointer) })
      }
    }
    for (const { id, origin, name_key: key } of before.values()) {
      if (origin !== 'file' || named.has(key)) continue
      if (kind === 'rule') await endIncidents(this.#trx, id)
      await this.#trx.deleteFrom('alert_setting').where('id', '=', id).execute()
      this.changed = true
    }
  }

  async #put(kind: AlertSettingTable['kind'], prepare: Prepare, row: AlertSettingTable | undefined): Promise<void> {
    const id = row?.id ?? randomUUID()
    const before = row && settingOf(row, this.#owner)
    const { name, body, secrets } = prepare(this.#owner, { owner: this.#owner.id, record: id }, before)
    const at = new Date().toISOString()
    const written = { name, name_key: nameKey(name), body: JSON.stringify(body), secrets, origin: 'file' as const }
    if (!before) {
      const made = { id, owner_id: this.#owner.id, kind, revision: 1, created_at: at, updated_at: at, ...written }
      await this.#trx.insertInto('alert_setting').values(made).execute()
    } else {
      const after = { ...before, body, secrets }
      const isSame =
        before.origin === 'file' &&
        before.name === name &&
        canonical(before.body) === canonical(body) &&
        canonical(channelSecrets(before, this.#sealer)) === canonical(channelSecrets(after, this.#sealer))
      if (isSame) return
      const change = { ...written, revision: before.revision + 1, updated_at: at }
      await this.#trx.updateTable('alert_setting').set(change).where('id', '=', id).execute()
    }
    this.changed = true
  }
}

/** The wrong fields with pointers into the file. Anything but a mistake of the entry is thrown. */
function mistakesOf(error: unknown, pointer: string): readonly FieldError[] {
  if (!(error instanceof HubError) || error.status >= 500) throw error
  if (!error.errors?.length) return [{ pointer, code: 'format', detail: error.message }]
  return error.errors.map(one => ({ ...one, pointer: `${pointer}${one.pointer.replace(/^#/, '')}` }))
}
