import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** One record of the settings file. */
export interface FileEntry {
  /** Place of the entry in the file: a JSON pointer. */
  readonly pointer: string
  /** Body in the form of the API. */
  readonly body: JsonObject
}

/** A section of the settings file that holds records of one kind. */
export interface FileSection {
  readonly kind: string
  /** Keys of the section, at the top level and in `systemConfig`. */
  readonly keys: readonly string[]
  /** Reads the value of a key, whose place is `at`. Entries are validated later, when they are mirrored. */
  read(value: JsonValue, at: string, warnings: string[]): readonly FileEntry[]
  /** Fields that tell entries apart beside the name. Default: none. */
  readonly within?: readonly string[]
}

/** Entries by their kind. */
export type FileRecords = ReadonlyMap<string, readonly FileEntry[]>

/**
 * Reads a section at the top level and in `systemConfig`; of two entries with one name the first counts, those of the top level
 * before the others. Entries without a name stay, to be refused later.
 */
export function readSection(
  document: JsonObject,
  { keys, read, within = [] }: FileSection,
  warnings: string[],
): readonly FileEntry[] {
  const inner = isJsonObject(document.systemConfig) ? document.systemConfig : {}
  const places = [
    { section: document, at: '' },
    { section: inner, at: '/systemConfig' },
  ]
  const entries = places.flatMap(({ section, at }) =>
    keys.flatMap(key => (section[key] === undefined ? [] : read(section[key], `${at}/${key}`, warnings))),
  )
  const seen = new Set<string>()
  return entries.filter(({ body }) => {
    const place = JSON.stringify([...within, 'name'].map(field => body[field] ?? null))
    const isLater = body.name !== undefined && seen.has(place)
    if (body.name !== undefined) seen.add(place)
    return !isLater
  })
}

/** Returns the entries of a list; one that is not an object is rejected later, with its place. */
export function listed(entries: readonly JsonValue[], at: string, what: string): FileEntry[] {
  return entries.map((entry, index) => ({
    pointer: `${at}/${index}`,
    body: isJsonObject(entry) ? entry : { name: `${what} ${index + 1}`, [what]: entry },
  }))
}

/** Reads a section that is an object with one list of entries. */
export function listIn(list: string, what: string): FileSection['read'] {
  return (section, at, warnings) => {
    const entries = isJsonObject(section) ? (section[list] ?? []) : undefined
    if (Array.isArray(entries)) return listed(entries, `${at}/${list}`, what)
    warnings.push(`${at} has no list "${list}"; it is not used`)
    return []
  }
}
