import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonValue } from '../../contract/json.ts'
import { guardJson } from '../../domain/json/json-guard.ts'
import { mustHoldMore, scanShape } from '../../domain/json/json-shape.ts'
import { nameKey } from '../../domain/names.ts'
import { SERVER_JSON } from '../../domain/server/body.ts'
import { validationError } from '../../domain/validation-error.ts'
import { parseImportText, type TextFormat } from '../import-text.ts'
import { JsoncError } from '../jsonc.ts'
import { readLooseJson } from '../loose-json.ts'
import { type EntryFields, NO_ENTRY_FIELDS } from '../shape/entry-fields.ts'
import { pastedBlocks } from './blocks.ts'
import { type ImportedEntry, refused } from './entry.ts'
import { fromLine, fromText } from './lines.ts'
import { fromValue } from './values.ts'

/** The servers found in a document, at most 500. */
export interface ImportedDocument {
  readonly entries: readonly ImportedEntry[]
}

/** JSON with comments is limited, as its parser is slower and keeps a node for each value. */
const COMMENTED_CHARACTERS = 1024 * 1024

/**
 * Reads a pasted text: the settings of MCP clients in JSON (as strict as people write it), YAML or TOML, one entry of such a file, a link
 * that installs a server, a line that adds one to a client, a command line, a URL, or a page with one of these in it. Throws
 * validation_failed when it is none of these or names more than 500 servers, and what {@link guardJson} throws. A text of 16 MiB
 * takes up to a second, so call it in a worker.
 */
export async function importText(text: string, fields: EntryFields = NO_ENTRY_FIELDS): Promise<ImportedDocument> {
  const attempts: Attempt[] = []
  for (const block of pastedBlocks(text)) {
    const attempt = await tried(block, fields)
    if ('read' in attempt && isClear(attempt.read)) return attempt.read
    attempts.push(attempt)
  }
  const best = attempts.find(attempt => 'read' in attempt && attempt.read.entries.length > 0) ?? attempts[0]
  if (!best) throw refused('The document is empty')
  if ('read' in best) return best.read
  throw best.error
}

type Attempt = { readonly read: ImportedDocument } | { readonly error: HubError }

async function tried(block: string, fields: EntryFields): Promise<Attempt> {
  try {
    return { read: await importBlock(block, fields) }
  } catch (error) {
    if (error instanceof HubError && error.code === 'validation_failed') return { error }
    throw error
  }
}

/** True for servers of which at least one can be read. */
function isClear({ entries }: ImportedDocument): boolean {
  return entries.some(({ problem }) => problem === undefined)
}

async function importBlock(text: string, fields: EntryFields): Promise<ImportedDocument> {
  const format = formatOf(text)
  if (format === undefined) return importDocument(text, fields)
  const read = await parseImportText(text, format)
  // A line of a command can look like one of such a file.
  const isCertain = KEY_FIRST.test(text) || format === 'toml'
  if ('problem' in read) {
    if (!isCertain) return importDocument(text, fields)
    throw refused(`The document is no ${format.toUpperCase()}: ${read.problem}`)
  }
  if (!isCertain && !isJsonObject(read.value) && !Array.isArray(read.value)) return importDocument(text, fields)
  return { entries: distinct(fromValue(read.value, '#', { fields, line: fromLine })) }
}

/** A key, a comment or a list at the beginning of a text. */
const KEY_FIRST = /^(?:---|[^\s:=]{1,64}:\s|- \S)/

/** The format of a text by its first lines; undefined for JSON, and for a line. */
export function formatOf(text: string): Exclude<TextFormat, 'json'> | undefined {
  if (isToml(text)) return 'toml'
  if (/^["'][\w. -]{1,64}["']:[ \t]{0,8}\r?\n/.test(text)) return 'yaml'
  const looksLikeYaml = /^(?:---|[^\s:=#{["]{1,64}:(?:\s|$)|["'][\w. -]{1,64}["']:\s*$|- \w+:\s)/m.test(text)
  return looksLikeYaml && !/^\s*(?:[{["]|\/[/*]|[a-z-]+:[{/])/i.test(text) ? 'yaml' : undefined
}

/** A table or a key that begins a line, with no bracket of JSON around it. */
function isToml(text: string): boolean {
  const head = text.slice(0, 64 * 1024)
  const hasTable = /^[ \t]{0,8}\[{1,2}[A-Za-z_"'][\w.\-"' ]{0,200}\]{1,2}[ \t]{0,8}(?:#[^\n]*)?$/m.test(head)
  return hasTable
    ? /^[ \t]{0,8}["']?[\w.-]{1,64}["']?[ \t]{0,8}=/m.test(head)
    : /^[\w."'-]{1,64}[ \t]{1,8}=\s/.test(head)
}

/** Reads one block of text that is JSON or a line. Throws as `importText`. */
export function importDocument(text: string, fields: EntryFields = NO_ENTRY_FIELDS): ImportedDocument {
  const trimmed = text.replace(/^\ufeff/, '').trim()
  if (trimmed === '') throw refused('The document is empty')
  const isJson = /^[{["“'‘]|^\/[/*]/.test(trimmed) && !beginsWithQuotedWord(trimmed)
  return { entries: distinct(isJson ? fromJson(trimmed, fields) : fromText(trimmed, fields)) }
}

/** True for a command line whose first word is in quotes, such as `"C:\Program Files\x.exe" --flag`. */
function beginsWithQuotedWord(text: string): boolean {
  if (text.startsWith("'")) return !/^'[^'\n]{0,200}'\s*:/.test(text)
  if (!text.startsWith('"')) return false
  if (/^"(?:[A-Za-z]:|\\\\[\w.-]+)\\(?!\\)/.test(text)) return true
  // A member of an object, or a text in a JSON string.
  return !/^"(?:[^"\\]|\\.)*"\s*(?::|$)/.test(text) && /^"[^"\n]*"(?:\s+[^\s:]|$)/.test(text)
}

function fromJson(text: string, fields: EntryFields): ImportedEntry[] {
  const value = parse(text)
  return typeof value === 'string' ? fromText(value, fields) : fromValue(value, '#', { fields, line: fromLine })
}

function parse(text: string): JsonValue {
  // One entry of a file is often copied without the surrounding braces.
  const whole = /^"(?:[^"\\]|\\.)*"\s*:/.test(text) ? `{${text.replace(/,\s*$/, '')}}` : text
  const shape = scanShape(whole)
  const large = mustHoldMore(shape, SERVER_JSON.members) || whole.length > COMMENTED_CHARACTERS
  const value = large ? strict(whole) : loose(whole, text)
  try {
    const named = guardJson(value, SERVER_JSON)
    // JSON.parse keeps only the last of two equal keys.
    if (large && named !== shape.colons) throw refused('An object of the document names a key twice')
  } catch (error) {
    if (!(error instanceof HubError) || error.code === 'validation_failed') throw error
    throw error.errors ? validationError(error.errors) : refused(error.message)
  }
  return value
}

/** Parses a large text without comments: it holds OpenAPI documents, or is rejected. */
function strict(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    throw refused('A document of this size must be plain JSON, without comments or trailing commas, and this is none')
  }
}

function loose(whole: string, written: string): JsonValue {
  try {
    return readLooseJson(whole)
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error
    // Members with closing brackets of what was not copied.
    if (whole !== written && error.kind === 'syntax') return loose(written, written)
    throw refused(`The document is no JSON: line ${error.line}, column ${error.column}: ${error.message}`)
  }
}

/** Numbers duplicate names: a list of unnamed entries often has one program twice. */
function distinct(entries: readonly ImportedEntry[]): ImportedEntry[] {
  const taken = new Set<string>()
  // Next number to try for each name, so that a thousand equal names do not cost a million look-ups.
  const next = new Map<string, number>()
  return entries.map(entry => {
    let { name } = entry
    const key = keyOf(entry, name)
    if (taken.has(key)) {
      let count = next.get(key) ?? 2
      while (taken.has(keyOf(entry, `${entry.name}-${count}`))) count += 1
      name = `${entry.name}-${count}`
      next.set(key, count + 1)
    }
    taken.add(keyOf(entry, name))
    return name === entry.name ? entry : { ...entry, name, body: { ...entry.body, name } }
  })
}

function keyOf(entry: ImportedEntry, name: string): string {
  return `${typeof entry.body.owner === 'string' ? nameKey(entry.body.owner) : ''}\u0000${nameKey(name)}`
}
