import { type ImportedEntry, placeInDocument } from '../../../config/import/entry.ts'
import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import { mapStrings, valueAt } from '../../../domain/json/json-pointer.ts'
import { maskedSecrets, secretPointers } from '../../../domain/server/secrets.ts'
import type { Transports } from '../../../domain/server/transports.ts'

/** An entry as a form shows it. */
export interface Preview {
  readonly body: JsonObject
  /** Pointer of a masked secret in `body` → its pointer in the document. */
  readonly places?: Readonly<Record<string, string>>
  /** Pointer of a masked secret in `body` → its characters in a document that is a text. */
  readonly spans?: Readonly<Record<string, Span>>
}

/** Returns the content of an entry for a form in which it is completed; secrets are masked, with their places in the document. */
export function preview(transports: Transports, document: string, entry: ImportedEntry): Preview {
  const body = { ...entry.body, name: entry.name }
  const secrets = secretPointers(transports, body).filter(pointer => !namesVariable(body, pointer))
  const places = Object.fromEntries(secrets.map(pointer => [pointer, placeInDocument(entry, `#${pointer}`)]))
  const shown = mapStrings(maskedSecrets(transports, body), (text, pointer) =>
    namesVariable(body, pointer) ? String(valueAt(body, pointer)) : text,
  )
  if (secrets.length === 0) return { body: shown }
  const spans = secrets.slice(0, MOST_SPANS).flatMap(pointer => {
    const span = spanOf(document, valueAt(body, pointer))
    return span === undefined ? [] : [[pointer, span] as const]
  })
  return { body: shown, places, ...(spans.length === 0 ? {} : { spans: Object.fromEntries(spans) }) }
}

/** Longest text in which secrets are looked for. */
export const SEARCHED_CHARACTERS = 256 * 1024
/** Most secrets of an entry that are looked for: each search may read all of the text. */
const MOST_SPANS = 50

/** A part of a text, and the scheme that the hub put before it. */
export interface Span {
  readonly from: number
  readonly to: number
  readonly before?: string
}

/** The place of a value in a text, or of the part behind its scheme; undefined where the text writes it in another way. */
function spanOf(document: string, value: JsonValue | undefined): Span | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  const [before = ''] = /^(?:Bearer|Basic|Token) +/i.exec(value) ?? []
  for (const scheme of new Set(['', before])) {
    const part = value.slice(scheme.length)
    const from = part === '' ? -1 : document.indexOf(part)
    if (from >= 0) return { from, to: from + part.length, ...(scheme === '' ? {} : { before: scheme }) }
  }
  return undefined
}

/** A value such as `Bearer ${TOKEN}`: the variable holds the secret, and the form needs the reference to ask for it. */
const SCHEME_AND_VARIABLE = /^(?:(?:Bearer|Basic|Token) +)?\$\{[A-Za-z_][\w.-]*\}$/i

function namesVariable(body: JsonObject, pointer: string): boolean {
  const text = /^\/(?:headers|env)\//.test(pointer) ? valueAt(body, pointer) : undefined
  return typeof text === 'string' && SCHEME_AND_VARIABLE.test(text)
}
