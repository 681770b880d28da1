import type { FieldCode } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { cutShort } from '../../domain/cut-short.ts'
import { visibleText } from '../../domain/text/visible-text.ts'
import { validationError } from '../../domain/validation-error.ts'
import { fittingName, nameOfCommand, nameOfUrl } from '../shape/entry-names.ts'

/** One server in a document, as the flat body of the API. */
export interface ImportedEntry {
  readonly name: string
  /** The name in the document, if it cannot be used as a server's name. */
  readonly writtenName?: string
  readonly body: JsonObject
  /** The "owner" in the document, a user of the hub that it was exported from. */
  readonly from?: string
  /** Sentences about the parts that are left out. */
  readonly warnings?: readonly string[]
  /** Position in the document, for a JSON document. */
  readonly place?: EntryPlace
  /** Reason why the entry is invalid; `pointer` points into the document. `body` then has only the readable fields. */
  readonly problem?: { readonly message: string; readonly pointer?: string; readonly code?: FieldCode }
}

interface EntryPlace {
  /** JSON Pointer of the entry, from `#` on. */
  readonly pointer: string
  /** The document's names of body fields, where they differ: `command/env` for a field inside of another. '' for a name that is the entry's key. */
  readonly written: Readonly<Record<string, string>>
}

/** Converts a pointer into an entry's body to one into the document. */
export function placeInDocument({ place }: ImportedEntry, pointer: string): string {
  if (!place) return pointer
  const [, field = '', ...rest] = pointer.split('/')
  const written = Object.hasOwn(place.written, field) ? place.written[field] : field
  return [place.pointer, ...(written === '' ? [] : [written]), ...rest].join('/')
}

/** The refusal of a whole document. */
export function refused(detail: string) {
  const hint = 'settings of an MCP client, one entry of them, a command line, or a URL'
  return validationError([{ pointer: '#', code: 'import_invalid', detail: `${detail}; wanted: ${hint}` }])
}

/** An entry that cannot be read. */
export function unreadable(message: string, name = 'server'): ImportedEntry {
  return { name, body: { name }, problem: { message } }
}

/** A server's name for one of the document, and that one where it cannot be used. */
export function namedAs(written: string): Pick<ImportedEntry, 'name' | 'writtenName'> {
  const name = fittingName(written)
  return name === written ? { name } : { name, writtenName: shownName(written) }
}

/** A name of the document as people read it, at most 256 of its characters. */
export function shownName(written: string): string {
  return visibleText(cutShort(written, 256))
}

/** A name for a server by its program or address. */
export function nameOfBody(body: JsonObject): string {
  if (typeof body.url === 'string' && URL.canParse(body.url)) return nameOfUrl(new URL(body.url))
  const args = Array.isArray(body.args) ? body.args.filter(arg => typeof arg === 'string') : []
  return typeof body.command === 'string' ? nameOfCommand(body.command, args) : 'server'
}
