import { UnreadableConfig } from '../../config/client-file/config-syntax.ts'
import { type OffSwitch, type SwitchedText, withoutTakenOver } from '../../config/client-file/switched-off.ts'
import { syntaxOfFile } from '../../config/client-file/syntaxes.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { quotedWords } from '../../domain/text/quoted-words.ts'
import { CommandError } from '../arguments.ts'
import type { HubClient } from '../client.ts'
import type { CommandIo } from '../io.ts'
import { plain } from '../output.ts'
import { importPlaces, presentPlaces } from './import-places.ts'
import { type Restored, readOriginal, restore, writeSwitched } from './switched-file.ts'

/** The client's file of an import, in which the servers that the hub takes over are switched off. */
export class Originals {
  readonly #file: string
  readonly #before: string
  readonly #client: HubClient

  private constructor(file: string, before: string, client: HubClient) {
    this.#file = file
    this.#before = before
    this.#client = client
  }

  /** Throws CommandError for a file that cannot be changed. */
  static async of(file: string, client: HubClient): Promise<Originals> {
    return new Originals(file, await readOriginal(file), client)
  }

  /** Returns the text of the file with the servers of this plan switched off. Throws CommandError for a file that cannot be changed so. */
  async plan({ source, items }: JsonObject): Promise<SwitchedText> {
    const taken = Array.isArray(items) ? items.filter(isJsonObject) : []
    const own = await this.#switchOf(String(source))
    try {
      const syntax = syntaxOfFile(this.#file, this.#before)
      return withoutTakenOver(syntax, this.#before, { source: String(source), items: taken, own })
    } catch (error) {
      if (!(error instanceof UnreadableConfig)) throw error
      throw new CommandError(`config_unreadable: ${this.#file}: ${error.message}\nNothing was changed.`)
    }
  }

  async #switchOf(source: string): Promise<OffSwitch | undefined> {
    const { items } = await this.#client.get('/api/import/sources')
    const found = (Array.isArray(items) ? items.filter(isJsonObject) : []).find(({ id }) => id === source)?.off
    if (!isJsonObject(found) || typeof found.field !== 'string' || typeof found.value !== 'boolean') return undefined
    return { field: found.field, value: found.value }
  }

  /** Writes the file unless nothing changes in it or `isDry`, and says what was done unless `quiet`. `id`: of the import. */
  async finish(
    io: CommandIo,
    { text, off, left }: SwitchedText,
    { isDry, id, quiet }: { readonly isDry: boolean; readonly id: string; readonly quiet: boolean },
  ): Promise<void> {
    const isSame = isDry || text === this.#before
    const copy = isSame ? undefined : await writeSwitched(this.#file, this.#before, text, id)
    if (quiet) return
    const verb = isDry ? 'would switch off' : 'switched off'
    const before = copy === undefined ? '' : `; before: ${copy}`
    const what = off.length > 0 ? `${verb} ${off.join(', ')}${before}` : 'nothing to switch off'
    io.stdout(plain(`${this.#file}: ${what}\n`))
    for (const { name, why } of left) io.stdout(plain(`${this.#file}: ${name} stays on: ${why}\n`))
  }
}

/** Brings files back in which an import switched servers off: one file, or those of all clients that are known here. */
export async function restoreOriginals(
  client: HubClient,
  file: string | undefined,
  importId: string | undefined,
  io: CommandIo,
): Promise<readonly Restored[]> {
  // Without a home folder no client has a file that an import has changed.
  const places = (io.env.HOME ?? io.env.USERPROFILE) === undefined ? [] : await importPlaces(client, io)
  const files = file === undefined ? (await presentPlaces(places)).map(place => place.file) : [file]
  const restored: Restored[] = []
  for (const each of files) {
    const one = await restore(each, importId)
    if (one) restored.push(one)
  }
  return restored
}

/** Says what became of each file. */
export function printRestored(io: CommandIo, restored: readonly Restored[]): void {
  for (const { file, copy, outcome } of restored) {
    const text =
      outcome === 'restored'
        ? `${file}: as it was before the import`
        : `config_changed: ${file} was changed since, and stays; as it was before: ${quotedWords([copy])}`
    io.stdout(plain(`${text}\n`))
  }
}
