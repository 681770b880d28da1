import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { nameKey, quoteName } from '../../domain/names.ts'
import { read } from '../../store/transact.ts'
import type { RegistryDeps } from '../context.ts'
import { fileGroupsWith } from '../groups/file-groups.ts'
import type { Owner } from '../owners.ts'
import { fileOrigin, ownerName, type ServerRow } from '../rows.ts'
import { serverRowsByKey } from '../server-rows.ts'
import type { Draft } from './server-draft.ts'
import { nameTaken } from './server-errors.ts'

/** Writes entries of servers in the settings file: a server from the file is changed there first. */
export class FileEntries {
  readonly #deps: RegistryDeps

  constructor(deps: RegistryDeps) {
    this.#deps = deps
  }

  async remove(row: ServerRow): Promise<void> {
    await this.#writer(row).writeServer(fileOrigin(row)?.owner, row.name, null)
  }

  /** Writes the body of a server; `draft`: the draft made from it. Throws if the entry must not be changed in this way. */
  async write(row: ServerRow, owner: Owner, draft: Draft, body: JsonObject): Promise<void> {
    if (owner.id !== row.owner_id) {
      throw new HubError('settings_read_only', 'Whose an entry of the settings file is, is changed in the file itself')
    }
    const writer = this.#writer(row)
    await this.#rejectDuplicate(row, owner, draft.settings.name)
    await writer.writeServer(fileOrigin(row)?.owner, row.name, body)
  }

  /** Renames the member in groups of the settings file, which refer to members by name. */
  async renameInGroups(row: ServerRow, owner: Owner, newName: string): Promise<void> {
    const groups = await fileGroupsWith(this.#deps, row.id)
    if (groups.length === 0) return
    const writer = this.#writer(row)
    await this.#rejectDuplicate(row, owner, newName)
    for (const group of groups) await writer.renameMember(group, { owner: ownerName(row), name: row.name }, newName)
  }

  /** Checked before the file is written; the store's own check would come too late. */
  async #rejectDuplicate(row: ServerRow, owner: Owner, name: string): Promise<void> {
    const duplicates = await read(this.#deps.store, db => serverRowsByKey(db, nameKey(name)))
    if (duplicates.some(duplicate => duplicate.owner_id === owner.id && duplicate.id !== row.id))
      throw nameTaken(name, owner)
  }

  #writer(row: ServerRow): NonNullable<RegistryDeps['fileWriter']> {
    if (this.#deps.fileWriter) return this.#deps.fileWriter
    throw new HubError('settings_read_only', `The server ${quoteName(row.name)} is held by the settings file`, {
      hint: 'Change its entry in the settings file.',
    })
  }
}
