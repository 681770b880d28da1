import { type ImportedEntry, namedAs, refused } from '../config/import/entry.ts'
import { OTHER_CHARACTERS, type TextFormat, type TextValue } from '../config/import-text.ts'
import type { FileAdditions } from '../config/shape/additions.ts'
import type { EntryFields } from '../config/shape/entry-fields.ts'
import { leftWithClient, readEntry } from '../config/shape/right-form.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import { guardJson } from '../domain/json/json-guard.ts'
import { nextTurn } from '../domain/next-turn.ts'
import { SERVER_JSON } from '../domain/server/body.ts'
import type { ImportedFile, ImportSource, LeftBehind, NotCarried } from '../features/imports.ts'

/** Additions of plugins to imports. */
export interface ImportAdditions extends Omit<FileAdditions, 'sections'> {
  /** Sections of other hubs' settings files that stay behind, by name. */
  readonly leftBehind: Readonly<Record<string, LeftBehind>>
}

/** The functions that the reading of programs' own files uses. */
export interface ImportSourceDeps {
  /** Additions of plugins to settings files of hubs, and to entries of other programs. */
  readonly additions: ImportAdditions
  /** By the program's name. */
  sources(): ReadonlyMap<string, ImportSource>
  /** Parses a text, a long one in a thread. */
  parseText(text: string, format: TextFormat, sender: string): Promise<TextValue>
}

/** The servers of a program's own file. */
export interface SourceContent {
  readonly source: string
  readonly entries: readonly ImportedEntry[]
  readonly notCarried: readonly NotCarried[]
}

/**
 * Reads a file in the form of one program, by the plugin that knows it; undefined for a document that is none. A text is its first
 * likely block. Throws validation_failed for a file that cannot be read.
 */
export async function readBySource(
  deps: ImportSourceDeps,
  document: JsonValue,
  sender: string,
): Promise<SourceContent | undefined> {
  const read = typeof document === 'string' ? document.slice(0, OTHER_CHARACTERS + 1) : document
  for (const [source, reader] of deps.sources()) {
    const content = await readBy(deps, reader, read, sender).catch((error: unknown) => {
      if (error instanceof HubError && error.status >= 500) throw error
      const [line] = String(error instanceof Error ? error.message : error).split('\n')
      throw refused(`The document is a file of ${reader.label}, and cannot be read: ${line?.slice(0, 300)}`)
    })
    if (content) return { source, ...content }
  }
  return undefined
}

/** Undefined for a document that is none of its files. */
async function readBy(
  deps: ImportSourceDeps,
  reader: ImportSource,
  document: JsonValue,
  sender: string,
): Promise<Omit<SourceContent, 'source'> | undefined> {
  if (!reader.reads(document)) return undefined
  const value = typeof document === 'string' ? await parsed(deps, document, reader, sender) : document
  const file = await reader.read(value)
  await nextTurn()
  return contentOf(file, deps.additions.fields)
}

async function parsed(
  deps: ImportSourceDeps,
  text: string,
  { format }: ImportSource,
  sender: string,
): Promise<JsonValue> {
  if (text.length > OTHER_CHARACTERS) throw new Error(`it has more than ${OTHER_CHARACTERS} characters`)
  if (format === undefined) return text
  const read = await deps.parseText(text, format, sender)
  if ('problem' in read) throw new Error(read.problem)
  return read.value
}

function contentOf({ servers, notCarried }: ImportedFile, fields: EntryFields): Omit<SourceContent, 'source'> {
  // A format of its own may nest deeper than JSON that came as JSON.
  guardJson(
    servers.map(({ body }) => body),
    SERVER_JSON,
  )
  const entries = servers.map(({ name: written, pointer, body, problem }): ImportedEntry => {
    const as = namedAs(written)
    if (problem !== undefined) return { ...as, body: { name: as.name }, problem: { message: problem, pointer } }
    // Sources may use the names of other programs for fields, as their files do.
    const read = readEntry(as.name, body, pointer, fields)
    const renamed =
      as.writtenName === undefined ? [] : [`its name "${as.writtenName}" cannot be one here: it becomes "${as.name}"`]
    const warnings = [...renamed, ...read.warnings, ...leftWithClient(body)]
    const place = { pointer, written: read.written }
    return { ...as, body: { name: as.name, ...read.body }, place, ...(warnings.length === 0 ? {} : { warnings }) }
  })
  return { entries, notCarried }
}

/**
 * The entries with a sentence about each part that is not carried, at the entry that has it, else at the first one. Throws
 * validation_failed for a file with nothing else.
 */
export function withNotCarried({ entries, notCarried }: Omit<SourceContent, 'source'>): readonly ImportedEntry[] {
  const [first] = notCarried
  if (entries.length === 0 && first)
    throw refused(`The document has ${first.what} at ${first.pointer}. ${first.instead}`)
  const sentences = new Map<number, string[]>()
  for (const { pointer, what, instead } of notCarried.slice(0, MOST_NAMED)) {
    const at = entries.findIndex(({ place }) => place !== undefined && `${pointer}/`.startsWith(`${place.pointer}/`))
    const index = Math.max(0, at)
    sentences.set(index, [...(sentences.get(index) ?? []), `left out: ${pointer}: ${what}. ${instead}`])
  }
  return entries.map((entry, index) => {
    const more = sentences.get(index)
    return more === undefined ? entry : { ...entry, warnings: [...(entry.warnings ?? []), ...more] }
  })
}

/** Parts that are named at the entries; each is looked for among all of them. */
const MOST_NAMED = 100
