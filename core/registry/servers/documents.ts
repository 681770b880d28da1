import { Buffer } from 'node:buffer'
import { createHash, randomUUID } from 'node:crypto'
import type { FieldError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { ServerSettings } from '../../contract/records.ts'
import type { ParsedServerBody } from '../../domain/server/body.ts'
import {
  documentOrigins,
  inlineDocument,
  type StoredDocument,
  storedDocument,
  withInlineDocument,
  withStoredDocument,
} from '../../domain/server/openapi.ts'
import type { Writer } from '../../store/transact.ts'
import { assignDocument, type WrittenDocument } from './document-parts.ts'

/** A new inline OpenAPI document. */
export interface NewDocument extends StoredDocument, WrittenDocument {
  /** The document as received: an object, or a text in JSON or YAML. */
  readonly value: JsonValue
}

/**
 * Takes the inline document out of a parsed body: `settings` and `filled` get the placeholder. `known`: facts about a document
 * that is a text.
 */
export function takeDocument<P extends ParsedServerBody>(
  parsed: P,
  known?: StoredDocument,
): P & { readonly document?: NewDocument } {
  const { config } = parsed.settings
  const value = inlineDocument(config)
  if (parsed.settings.transport !== 'openapi' || value === undefined) return parsed
  const document = newDocument(value, known)
  const { id: _, value: __, content: ___, ...standIn } = document
  return {
    ...parsed,
    settings: { ...parsed.settings, config: withStoredDocument(config, standIn) },
    filled: withStoredDocument(parsed.filled, standIn),
    document,
  }
}

/**
 * The transport part with the document itself if the body has it as an object, so that every address in it is checked.
 * For a text, the placeholder has the known addresses.
 */
export function fullyFilled({
  filled,
  document,
}: Pick<ParsedServerBody, 'filled'> & { readonly document?: NewDocument }) {
  return isJsonObject(document?.value) ? withInlineDocument(filled, document.value) : filled
}

function newDocument(value: JsonValue, known?: StoredDocument): NewDocument {
  const id = randomUUID()
  const content = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  if (known && typeof value === 'string' && known.bytes === content.length) return { ...known, id, value, content }
  const servers = documentOrigins(value)
  const sha256 = createHash('sha256').update(content).digest('hex')
  return { id, sha256, bytes: content.length, ...(servers ? { servers } : {}), value, content }
}

/**
 * Replaces the placeholder of a document with the stored one. It is ignored beside "schema" or "url", since clients
 * send responses back. A placeholder of another document than the stored one is added to `errors`.
 */
export function keepDocument(flat: JsonObject, stored: ServerSettings | undefined, errors: FieldError[]): JsonObject {
  const { openapi } = flat
  if (!isJsonObject(openapi) || openapi.document === undefined) return flat
  const { document, ...rest } = openapi
  if (rest.schema !== undefined || rest.url !== undefined) return { ...flat, openapi: rest }
  const known = stored && storedDocument(stored.config)
  if (known && isJsonObject(document) && document.sha256 === known.sha256) {
    return withStoredDocument(flat, known)
  }
  const detail = 'No such document is stored for this server; send the document itself as "schema"'
  errors.push({ pointer: '#/openapi/document', code: 'required', detail })
  return flat
}

/** Replaces the stored document of a server by one that was written; deletes it when the settings have none. Call it within a transaction. */
export async function writeDocument(
  trx: Writer,
  serverId: string,
  settings: ServerSettings,
  document: NewDocument | undefined,
): Promise<void> {
  if (!storedDocument(settings.config)) {
    await trx.deleteFrom('openapi_document').where('server_id', '=', serverId).execute()
  } else if (document) await assignDocument(trx, serverId, document.id)
}
