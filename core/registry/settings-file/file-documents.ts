import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { DocumentCheck } from '../../domain/server/documents.ts'
import { type StoredDocument, storedDocument } from '../../domain/server/openapi.ts'
import { read } from '../../store/transact.ts'
import type { FileState } from '../api.ts'
import type { RegistryDeps } from '../context.ts'
import { serverRecord } from '../rows.ts'
import { selectServers } from '../server-rows.ts'

/** Check results of the documents in a file, by their `openapi` blocks. */
export type FileDocuments = ReadonlyMap<JsonObject, DocumentCheck>

/** Sender of the hub's own documents in the queue of checks, beside the users. */
const SENDER = 'settings file'

/** Checks the documents that are texts in the file; stored ones were checked before. */
export async function checkFileDocuments(deps: RegistryDeps, entries: FileState['servers']): Promise<FileDocuments> {
  const checked = new Map<JsonObject, DocumentCheck>()
  const { checkDocument } = deps
  const blocks = entries.map(({ body }) => openapiBlock(body)).filter(block => block !== undefined)
  if (!checkDocument || blocks.every(({ schema }) => typeof schema !== 'string')) return checked
  const stored = await storedDocuments(deps)
  for (const block of blocks) {
    const { schema, baseUrl } = block
    if (typeof schema !== 'string') continue
    const known = stored.get(createHash('sha256').update(schema).digest('hex'))
    const hasBaseUrl = baseUrl !== undefined
    const usable = known?.servers && (hasBaseUrl || known.servers.length > 0)
    checked.set(block, usable ? { known } : await checkDocument({ text: schema, hasBaseUrl }, SENDER))
  }
  return checked
}

/** The `openapi` block of an entry, flat or nested. */
export function openapiBlock({ openapi, config }: JsonObject): JsonObject | undefined {
  if (isJsonObject(openapi)) return openapi
  return isJsonObject(config) && isJsonObject(config.openapi) ? config.openapi : undefined
}

async function storedDocuments({ store }: RegistryDeps): Promise<ReadonlyMap<string, StoredDocument>> {
  const rows = await read(store, db => selectServers(db).where('server.origin', '=', 'file').execute())
  const documents = rows.flatMap(row => storedDocument(serverRecord(row).config) ?? [])
  return new Map(documents.map(document => [document.sha256, document]))
}
