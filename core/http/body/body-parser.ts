import { Buffer } from 'node:buffer'
import type { SwitchAnswer, SwitchJob } from '../../config/client-file/file-text.ts'
import type { ImportedDocument } from '../../config/import/document.ts'
import { parseImportText, type TextFormat, type TextValue } from '../../config/import-text.ts'
import { type EntryFields, NO_ENTRY_FIELDS } from '../../config/shape/entry-fields.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { type JsonLimits, parseJsonObject } from '../../domain/json/json-guard.ts'
import { attachFacts } from '../../domain/server/document-facts.ts'
import type { DocumentCheck, DocumentText } from '../../domain/server/documents.ts'
import { decodeBody } from './body-text.ts'
import { BodyThread, JobTooLong } from './body-thread.ts'
import { bytesOf } from './chunks.ts'

/** Largest body that the main thread parses: at most 65,000 values, which take some milliseconds. */
export const MAIN_THREAD_BYTES = 128 * 1024
/** Longest text of a file that the main thread parses: TOML and YAML take some milliseconds for each KiB at worst. */
const MAIN_THREAD_TEXT = 4 * 1024

/**
 * True when the main thread parses the body. Bodies with numbers in their source spelling are always parsed here, because those
 * would lose their class on a port; such bodies have few values.
 */
export function parsedByMain(chunks: readonly Uint8Array[], limits: JsonLimits): boolean {
  return limits.asWritten === true || bytesOf(chunks) <= MAIN_THREAD_BYTES
}

/** Options of the parser. */
export interface BodyParserOptions {
  /** Longest time for the check of one document, in milliseconds. Default 60,000. */
  readonly documentMs?: number
  /** Fields of servers that plugins define, for imports. Default: none. */
  readonly fields?: EntryFields
}

/**
 * Parses JSON bodies, those over 128 KiB in a thread, one at a time, and checks documents that are texts in another one: some
 * megabytes of YAML take seconds, for which other users' bodies must not wait.
 */
export class BodyParser {
  readonly #bodies = new BodyThread('patchbay-bodies')
  readonly #documents: BodyThread
  readonly #fields: EntryFields

  constructor({ documentMs, fields = NO_ENTRY_FIELDS }: BodyParserOptions = {}) {
    this.#fields = fields
    this.#documents = new BodyThread('patchbay-documents', documentMs)
  }

  /**
   * Parses the object in a body that was received in chunks. The chunks are transferred and become unusable. Inline OpenAPI
   * documents of a body over 128 KiB stay text, with their facts attached (`factsIn`). `sender`: a user id, or the address of an
   * anonymous client. Throws the errors of `parseJsonObject`, `json_encoding`, `validation_failed` for such a document, and
   * `overloaded` when the worker ended, or 16 bodies of the sender wait already.
   */
  async parse(chunks: readonly Uint8Array[], limits: JsonLimits, sender: string): Promise<JsonObject> {
    if (parsedByMain(chunks, limits)) return parseJsonObject(decodeBody(Buffer.concat(chunks)), limits)
    // Joined by the thread: new memory costs up to 5 ms a megabyte (seen in virtual machines).
    const owned = chunks.filter(({ buffer, byteLength }) => buffer.byteLength === byteLength)
    const transfer = [...new Set(owned.map(({ buffer }) => buffer as ArrayBuffer))]
    const answer = await this.#bodies.ask({ kind: 'body', chunks, limits }, sender, transfer)
    if (!('value' in answer)) throw new TypeError('The thread answered a body with an import')
    attachFacts(answer.value, answer.documents)
    return answer.value
  }

  /** Runs `importDocument` on a text, or on another value's JSON; throws its errors, and `overloaded` as `parse`. */
  async importDocument(document: JsonValue, sender: string): Promise<ImportedDocument> {
    const fields = this.#fields
    const answer = await this.#bodies.ask({ kind: 'import', document, fields }, sender)
    if (!('imported' in answer)) throw new TypeError('The thread answered an import with a body')
    for (const [index, { body }] of answer.imported.entries.entries()) attachFacts(body, answer.documents[index] ?? [])
    return answer.imported
  }

  /** Runs `parseImportText`, for more than 4 KiB in the thread of documents; throws `overloaded` as `parse`. */
  async parseText(text: string, format: TextFormat, sender: string): Promise<TextValue> {
    if (text.length <= MAIN_THREAD_TEXT) return parseImportText(text, format)
    const answer = await this.#documents.ask({ kind: 'text', text, format }, sender)
    if (!('text' in answer)) throw new TypeError('The thread answered a text with something else')
    return answer.text
  }

  /** Runs `switchOff` in the thread of documents; throws `overloaded` as `parse`. */
  async switchOff(file: SwitchJob, sender: string): Promise<SwitchAnswer> {
    const answer = await this.#documents.ask({ kind: 'switch-off', file }, sender)
    if (!('switched' in answer)) throw new TypeError('The thread answered a file with something else')
    return answer.switched
  }

  /**
   * Checks an inline document that is a text, in JSON or YAML; one that takes too long gets a problem. Throws `overloaded` as
   * `parse`.
   */
  async checkDocument(document: DocumentText, sender: string): Promise<DocumentCheck> {
    const answer = await this.#documents.ask({ kind: 'document', ...document }, sender).catch((error: unknown) => {
      if (!(error instanceof JobTooLong)) throw error
      const detail = `The OpenAPI document is too large: ${error.message}. Send it as JSON, or a smaller one`
      return { check: { problem: { field: 'schema', code: 'openapi_too_large', detail } } } as const
    })
    if (!('check' in answer)) throw new TypeError('The thread answered a document with a body')
    return answer.check
  }

  dispose(): void {
    this.#bodies.dispose()
    this.#documents.dispose()
  }
}
