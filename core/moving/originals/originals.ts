import type { SwitchAnswer, SwitchJob } from '../../config/client-file/file-text.ts'
import type { SwitchedText } from '../../config/client-file/switched-off.ts'
import { JSON_CHARACTERS, type TextFormat } from '../../config/import-text.ts'
import type { HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { ImportSource } from '../../features/imports.ts'

/** The servers that are switched off in the file of an import: all that it takes over, or those at these pointers. */
export type SwitchOff = boolean | readonly string[]

/** The file of an import with its servers switched off. */
export interface SwitchedOriginal extends SwitchedText {
  readonly format: TextFormat
  /** Places where the program keeps the file; empty for a file that many programs have. */
  readonly places: ImportSource['places']
}

/** The parts of the hub that switch servers off in a file. */
export interface OriginalsDeps {
  /** By the program's name. */
  sources(): ReadonlyMap<string, ImportSource>
  /** Changes the text of a file, a long one in a thread. */
  switchOff(file: SwitchJob, sender: string): Promise<SwitchAnswer>
}

interface Plan {
  readonly source: string
  readonly items: readonly { readonly kind: string; readonly pointer: string }[]
}

/** Returns the text of an import with its servers switched off. Throws `validation_failed` for a text that cannot be changed so. */
export async function switchedOriginal(
  { sources, switchOff }: OriginalsDeps,
  document: JsonValue,
  { source, items }: Plan,
  wanted: SwitchOff,
  sender: string,
): Promise<SwitchedOriginal> {
  if (typeof document !== 'string') throw refused('Send the "document" as the text of its file')
  if (document.length > JSON_CHARACTERS) throw refused(`The text has more than ${JSON_CHARACTERS} characters`)
  const program = sources().get(source)
  const format = program?.format ?? formatOf(document)
  const taken = typeof wanted === 'boolean' ? items : named(items, wanted)
  const job = { text: document, format, source, items: taken.map(plain), own: program?.off }
  const answer = await switchOff(job, sender)
  if ('problem' in answer) throw refused(`The servers cannot be switched off in this text: ${answer.problem}`)
  return { ...answer, format, places: program?.places ?? [] }
}

/** The named items, as if the hub had all of them. */
function named(items: Plan['items'], pointers: readonly string[]): Plan['items'] {
  const servers = new Map(items.filter(({ kind }) => kind === 'server').map(item => [item.pointer, item]))
  return pointers.map((pointer, at) => {
    const found = servers.get(pointer)
    if (found) return { ...found, verdict: 'same', body: {} }
    throw refused(`The document has no server at "${pointer.slice(0, 64)}"`, `/${at}`)
  })
}

/** A plan's item, of which only the parts are read that JSON has. */
function plain(item: Plan['items'][number]): JsonObject {
  const { kind, pointer, name, verdict, body } = item as JsonObject
  const enabled = (body as JsonObject | undefined)?.enabled
  return {
    ...{ kind: kind ?? null, pointer: pointer ?? null, name: name ?? null, verdict: verdict ?? null },
    ...(enabled === undefined ? {} : { body: { enabled } }),
  }
}

function formatOf(text: string): TextFormat {
  return /^\ufeff?\s*(?:[{["]|\/[/*])/.test(text) ? 'json' : 'yaml'
}

function refused(detail: string, pointer = ''): HubError {
  return validationError([{ pointer: `#/switchOff${pointer}`, code: 'import_invalid', detail }])
}
