import { likeliestBlock } from '../config/import/blocks.ts'
import { type ImportedEntry, placeInDocument } from '../config/import/entry.ts'
import { JSON_CHARACTERS, OTHER_CHARACTERS } from '../config/import-text.ts'
import { DuplicateEntry } from '../config/shape/settings.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import { guardJson, type JsonLimits } from '../domain/json/json-guard.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'
import { nextTurn } from '../domain/next-turn.ts'
import { SERVER_JSON } from '../domain/server/body.ts'
import { validationError } from '../domain/validation-error.ts'
import type { NotCarried } from '../features/imports.ts'
import type { ServerTemplates } from '../features/templates.ts'
import type { OpenAttached } from '../registry/attached.ts'
import type { RecordKinds } from '../registry/record-kinds.ts'
import { isExport, readExport } from './import-export.ts'
import { isHubDocument, namedIn, readHubDocument } from './import-hub.ts'
import type { ImportContent, ImportItem } from './import-items.ts'
import type { ImportOptions } from './import-scope.ts'
import { type ImportSourceDeps, readBySource, type SourceContent, withNotCarried } from './import-sources.ts'
import { OneAtATime } from './one-at-a-time.ts'

/** The functions that the reading of documents uses. */
export interface ImportReaderDeps extends ImportSourceDeps {
  readonly kinds: RecordKinds
  readonly attached: Pick<OpenAttached, 'names'>
  /** The form of servers' templates, while a plugin has it; without it they are not taken. */
  templates(): ServerTemplates | undefined
  /** Reads the settings of a client, a command line or a URL in a thread. Throws `validation_failed`. */
  readDocument(document: JsonValue, sender: string): Promise<{ readonly entries: readonly ImportedEntry[] }>
}

/** Most items, for administrators and for others, who may have far fewer servers. */
const MOST_ITEMS = { admin: 2_000, user: 500 }
/** Most shares and members of teams together: each is looked up. */
const MOST_SHARES = { admin: 10_000, user: 2_000 }
/** Limits of a document that came as JSON: it was in a body of 128 KiB at most, or was counted when it was parsed. */
const DOCUMENT_JSON: JsonLimits = { ...SERVER_JSON, members: 70_000, characters: 16 * 1024 * 1024 }
/** Most things not carried that are named one by one; a file can have ten thousand unknown fields. */
const MOST_NAMED = 1_000

/** Reads a document: an export, the settings of a hub or of a client, a command line, or a URL. */
export class ImportReader {
  readonly #deps: ImportReaderDeps
  /** Each one takes 128 MiB for a moment. */
  readonly #passphrases = new OneAtATime('Too many exports are read at this moment')

  constructor(deps: ImportReaderDeps) {
    this.#deps = deps
  }

  /** Throws `overloaded`, and `validation_failed` for a document that no reader understands or that is beyond a limit. */
  async read(document: JsonValue, actor: UserActor, options: ImportOptions): Promise<ImportContent> {
    const text = typeof document === 'string' ? likeliestBlock(document) : document
    const value = typeof text === 'string' ? await this.#jsonOf(text, actor.userId) : guarded(text)
    // Others are answered between walks: for a document of the largest size, each walk takes some tens of milliseconds.
    await nextTurn()
    if (value !== undefined && isHubDocument(value)) refuseTooMany(namedIn(value), actor)
    const { answers, passphrase } = options
    const content =
      (value !== undefined && isExport(value)
        ? await this.#passphrases.run(() => readExport(value, answers, passphrase, this.#exportParts()))
        : undefined) ??
      (value !== undefined && isHubDocument(value)
        ? hubContent(value, this.#deps.kinds, this.#deps.additions)
        : undefined) ??
      sourceContent(await readBySource(this.#deps, value ?? text, actor.userId)) ??
      clientContent((await this.#deps.readDocument(document, actor.userId)).entries, tooLong(document))
    refuseTooMany(content.items.length, actor)
    refuseTooManyShares(content.items, actor)
    return { ...content, notCarried: firstNamed(content.notCarried) }
  }

  /**
   * Returns undefined for a text that is no JSON or beyond a limit: the thread that reads settings then reports its mistake.
   */
  async #jsonOf(text: string, sender: string): Promise<JsonValue | undefined> {
    if (text.length > JSON_CHARACTERS) return undefined
    const read = await this.#deps.parseText(text, 'json', sender)
    return 'value' in read ? read.value : undefined
  }

  #exportParts() {
    return { kinds: this.#deps.kinds.all(), templates: this.#deps.templates(), attached: this.#deps.attached }
  }

  /** The servers of a document alone: what its program has beside them is named in their warnings. Throws as `read`. */
  async servers(document: JsonValue, sender: string): Promise<{ readonly entries: readonly ImportedEntry[] }> {
    const isText = typeof document === 'string'
    // Longer texts are read in a thread alone.
    if (isText && document.length > OTHER_CHARACTERS) return this.#deps.readDocument(document, sender)
    const text = isText ? likeliestBlock(document) : document
    const value = typeof text === 'string' ? await this.#jsonOf(text, sender) : text
    const isOwn = value !== undefined && (isExport(value) || isHubDocument(value))
    const content = isOwn ? undefined : await readBySource(this.#deps, value ?? text, sender)
    return content ? { entries: withNotCarried(content) } : this.#deps.readDocument(document, sender)
  }
}

function refused(detail: string): HubError {
  return validationError([{ pointer: '#/document', code: 'import_invalid', detail }])
}

/**
 * Checks the whole document here, since the sources and the reader of hubs walk through all of it and name each part by its
 * path.
 */
function guarded(document: JsonValue): JsonValue {
  try {
    guardJson(document, DOCUMENT_JSON)
    return document
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    throw refused(error.message)
  }
}

function refuseTooMany(count: number, { role }: UserActor): void {
  const most = MOST_ITEMS[role]
  if (count > most) throw refused(`The document names ${count} things; at most ${most} are taken over at a time`)
}

function refuseTooManyShares(items: readonly ImportItem[], { role }: UserActor): void {
  const most = MOST_SHARES[role]
  let count = 0
  for (const item of items)
    count += item.kind === 'shares' ? item.shares.length : item.kind === 'team' ? item.members.length : 0
  if (count > most)
    throw refused(`The document names ${count} shares and members of teams; at most ${most} are taken over at a time`)
}

function firstNamed(notCarried: readonly NotCarried[]): readonly NotCarried[] {
  if (notCarried.length <= MOST_NAMED) return notCarried
  const what = `${notCarried.length - MOST_NAMED} more parts of the document`
  const instead = 'Import fewer servers at a time to see each of them named.'
  return [...notCarried.slice(0, MOST_NAMED), { pointer: '#', what, instead }]
}

function hubContent(...source: Parameters<typeof readHubDocument>): ImportContent {
  try {
    return readHubDocument(...source)
  } catch (error) {
    if (!(error instanceof DuplicateEntry)) throw error
    const pointer = `#/${error.path.map(pointerToken).join('/')}`
    throw validationError([{ pointer, code: 'import_invalid', detail: `The document names ${error.message}` }])
  }
}

function sourceContent(content: SourceContent | undefined): ImportContent | undefined {
  return content && { ...clientContent(content.entries, []), source: content.source, notCarried: content.notCarried }
}

/** Only servers are read in the thread. */
function tooLong(document: JsonValue): string[] {
  if (typeof document !== 'string' || document.length <= JSON_CHARACTERS) return []
  return ['The text is longer than 2 MiB: only servers were read. Send it as JSON for the rest']
}

function clientContent(entries: readonly ImportedEntry[], warnings: readonly string[]): ImportContent {
  const items = entries.map((entry): ImportItem => {
    const { owner, ...body } = entry.body
    return {
      kind: 'server',
      pointer: entry.place?.pointer ?? entry.problem?.pointer ?? '#',
      name: entry.name,
      ...(typeof owner === 'string' ? { owner } : {}),
      body,
      place: pointer => placeInDocument(entry, pointer),
      ...(entry.warnings ? { warnings: entry.warnings } : {}),
      ...(entry.problem ? { problem: entry.problem.message } : {}),
    }
  })
  return { source: 'client', items, notCarried: [], warnings }
}
