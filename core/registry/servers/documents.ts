import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { type FieldError, HubError } from '../../contract/errors.ts'
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
import type { Reader, Writer } from '../../store/transact.ts'

/** An inline OpenAPI document that is to be stored. */
export interface NewDocument extends StoredDocument {
  /** As it came: an object, or a text in JSON or YAML. */
  readonly value: JsonValue
  /** Its text in UTF-8. */
  readonly content: Uint8Array
}

/**
 * A parsed body with its inline document taken out: the stand-in is in `settings` and `filled`, the document beside them.
 * `known`: what is known already of a document that comes as its text.
 */
export function takeDocument<P extends ParsedServerBody>(
  parsed: P,
  known?: StoredDocument,
): P & { readonly document?: NewDocument } {
  const { config } = parsed.settings
  const value = inlineDocument(config)
  if (parsed.settings.transport !== 'openapi' || value === undefined) return parsed
  const document = newDocument(value, known)
  const { value: _, content: __, ...standIn } = document
  return {
    ...parsed,
    settings: { ...parsed.settings, config: withStoredDocument(config, standIn) },
    filled: withStoredDocument(parsed.filled, standIn),
    document,
  }
}

/**
 * The transport part with the document itself where the body brought an object, to judge every address that it names. Of a
 * text the stand-in names those that are known.
 */
export function fullyFilled({
  filled,
  document,
}: Pick<ParsedServerBody, 'filled'> & { readonly document?: NewDocument }) {
  return isJsonObject(document?.value) ? withInlineDocument(filled, document.value) : filled
}

function newDocument(value: JsonValue, known?: StoredDocument): NewDocument {
  const content = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  if (known && typeof value === 'string' && known.bytes === content.length) return { ...known, value, content }
  const servers = documentOrigins(value)
  const sha256 = createHash('sha256').update(content).digest('hex')
  return { sha256, bytes: content.length, ...(servers ? { servers } : {}), value, content }
}

/**
 * A flat body in which the stand-in of a document is the one that is stored. Beside "schema" or "url" it says nothing, since
 * clients send answers back. One that names another document than the stored one is noted in `errors`.
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

/** Stores the document of a server in place of the one before; without one, what was stored goes. Within a transaction. */
export async function writeDocument(
  trx: Writer,
  serverId: string,
  settings: ServerSettings,
  document: NewDocument | undefined,
): Promise<void> {
  const wanted = storedDocument(settings.config)
  if (!wanted) {
    await trx.deleteFrom('server_document').where('server_id', '=', serverId).execute()
  } else if (document) {
    const row = { sha256: document.sha256, bytes: document.bytes, content: document.content }
    await trx
      .insertInto('server_document')
      .values({ server_id: serverId, ...row })
      .onConflict(conflict => conflict.column('server_id').doUpdateSet(row))
      .execute()
  }
}

/** The text of a server's document in UTF-8. Throws `config_invalid` when another one is stored by now, or none. */
export async function readDocument(db: Reader, serverId: string, sha256: string): Promise<Uint8Array> {
  const row = await db
    .selectFrom('server_document')
    .select('content')
    .where('server_id', '=', serverId)
    .where('sha256', '=', sha256)
    .executeTakeFirst()
  if (row) return row.content
  throw new HubError(
    'config_invalid',
    'The OpenAPI document of the server is not stored any more; save the server again',
  )
}
