import type { Buffer } from 'node:buffer'
import { HubError } from '../../contract/errors.ts'
import { nextTurn } from '../../domain/next-turn.ts'
import type { StoredDocument } from '../../domain/server/openapi.ts'
import type { Store } from '../../store/open.ts'
import { type Reader, read, type Writer, write } from '../../store/transact.ts'
import type { DocumentParts } from '../api.ts'

/** Bytes written or read at a time, which takes some milliseconds; a document of 15 MB as a whole takes a hundred. */
const PART_BYTES = 1024 * 1024

/** A document as it is written. */
export interface WrittenDocument extends Pick<StoredDocument, 'sha256' | 'bytes'> {
  /** Id of this stored copy: two servers with the same document have one each. */
  readonly id: string
  /** Its text in UTF-8. */
  readonly content: Buffer
}

/**
 * Does `save` with the document written beside, part by part, each in a turn and a transaction of its own. It belongs to no
 * server until `save` assigns it with {@link assignDocument}; one that was not assigned is removed again.
 */
export async function withDocument<T>(
  store: Store,
  document: WrittenDocument | undefined,
  save: () => Promise<T>,
): Promise<T> {
  if (!document) return save()
  try {
    await write(store, trx => insertDocument(trx, document))
    for (const row of partsOf(document)) {
      await nextTurn()
      await write(store, async trx => void (await trx.insertInto('openapi_document_part').values(row).execute()))
    }
    await nextTurn()
    return await save()
  } finally {
    await removeUnownedDocuments(store, document.id)
  }
}

/** The same within a transaction, for documents that the administrator's own file brings. */
export async function insertDocumentWithParts(trx: Writer, document: WrittenDocument): Promise<void> {
  await insertDocument(trx, document)
  for (const row of partsOf(document)) await trx.insertInto('openapi_document_part').values(row).execute()
}

/** Assigns a written document to its server, replacing the previous one. Throws `storage_busy` if it no longer exists. */
export async function assignDocument(trx: Writer, serverId: string, id: string): Promise<void> {
  await trx.deleteFrom('openapi_document').where('server_id', '=', serverId).execute()
  const { numUpdatedRows } = await trx
    .updateTable('openapi_document')
    .set({ server_id: serverId })
    .where('id', '=', id)
    .executeTakeFirst()
  if (Number(numUpdatedRows) === 1) return
  throw new HubError('storage_busy', 'The OpenAPI document was removed while its server was being saved; save it again')
}

/** Opens a server's document; nothing of its text is read yet. Throws `config_invalid` when another one is stored, or none. */
export async function openDocument(store: Store, serverId: string, sha256: string): Promise<DocumentParts> {
  const found = await read(store, db => documentOf(db, serverId, sha256))
  if (!found) throw gone()
  let length = 0
  let part = 0
  return {
    bytes: found.bytes,
    partBytes: Math.min(PART_BYTES, found.bytes),
    async next() {
      if (length >= found.bytes) return undefined
      if (part > 0) await nextTurn()
      const row = await read(store, db => partOf(db, found.id, part))
      if (!row) throw gone()
      part += 1
      length += row.content.length
      return row.content as Uint8Array<ArrayBuffer>
    },
  }
}

/** The whole text of a server's document in UTF-8. Throws `config_invalid` when it was replaced or deleted. */
export async function readDocument(store: Store, serverId: string, sha256: string): Promise<Uint8Array<ArrayBuffer>> {
  const parts = await openDocument(store, serverId, sha256)
  const content = new Uint8Array(parts.bytes)
  let length = 0
  for (let part = await parts.next(); part; part = await parts.next()) {
    content.set(part, length)
    length += part.length
  }
  return content
}

/** The same as text, decoded part by part: a whole document of 15 MB takes 0.1 s. */
export async function readDocumentText(store: Store, serverId: string, sha256: string): Promise<string> {
  const parts = await openDocument(store, serverId, sha256)
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const texts: string[] = []
  for (let part = await parts.next(); part; part = await parts.next())
    texts.push(decoder.decode(part, { stream: true }))
  return `${texts.join('')}${decoder.decode()}`
}

function gone(): HubError {
  return new HubError(
    'config_invalid',
    'The OpenAPI document of the server is not stored any more; save the server again',
  )
}

/**
 * Removes documents without a server: the given one or, at the start of the hub, all that a crashed process left. If the
 * database fails to remove them, the next start tries again.
 */
export async function removeUnownedDocuments(store: Store, id?: string): Promise<void> {
  const removal = write(store, async trx => {
    const unowned = trx.deleteFrom('openapi_document').where('server_id', 'is', null)
    await (id === undefined ? unowned : unowned.where('id', '=', id)).execute()
  })
  await removal.catch(() => undefined)
}

async function insertDocument(trx: Writer, { id, sha256, bytes }: WrittenDocument): Promise<void> {
  await trx.insertInto('openapi_document').values({ id, server_id: null, sha256, bytes }).execute()
}

function* partsOf({ id, content }: WrittenDocument): Generator<{ document_id: string; part: number; content: Buffer }> {
  for (let part = 0; part * PART_BYTES < content.length; part += 1)
    yield { document_id: id, part, content: content.subarray(part * PART_BYTES, (part + 1) * PART_BYTES) }
}

function documentOf(db: Reader, serverId: string, sha256: string) {
  const ofServer = db.selectFrom('openapi_document').select(['id', 'bytes']).where('server_id', '=', serverId)
  return ofServer.where('sha256', '=', sha256).executeTakeFirst()
}

function partOf(db: Reader, id: string, part: number) {
  const ofDocument = db.selectFrom('openapi_document_part').select('content').where('document_id', '=', id)
  return ofDocument.where('part', '=', part).executeTakeFirst()
}
