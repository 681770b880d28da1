import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { isJsonObject, type JsonObject } from '../../../contract/json.ts'
import { documentOrigins, inlineDocument, withStoredDocument } from '../../../domain/server/openapi.ts'

interface Row {
  readonly id: string
  readonly config: string
}

/**
 * Moves inline OpenAPI documents from the configuration to a table of their own, which is read only when a server
 * starts; the configuration keeps hash, size and origins. Rows are moved one by one, so that only one document is in
 * memory.
 */
export function serverDocuments(dialect: 'sqlite' | 'postgres'): Migration {
  return {
    async up(db: Kysely<never>) {
      await db.schema
        .createTable('server_document')
        .addColumn('server_id', 'text', column => column.primaryKey().references('server.id').onDelete('cascade'))
        .addColumn('sha256', 'text', column => column.notNull())
        .addColumn('bytes', 'integer', column => column.notNull())
        .addColumn('content', dialect === 'sqlite' ? 'blob' : 'bytea', column => column.notNull())
        .execute()
      const servers = await sql<Pick<Row, 'id'>>`select id from server where transport = 'openapi'`.execute(db)
      for (const { id } of servers.rows) await moveDocument(db, id)
      await db.schema.createIndex('audit_at').on('audit').column('at').execute()
    },
  }
}

async function moveDocument(db: Kysely<never>, id: string): Promise<void> {
  const { rows } = await sql<Row>`select id, config from server where id = ${id}`.execute(db)
  const stored: unknown = JSON.parse(rows[0]?.config ?? '{}')
  if (!isJsonObject(stored) || !isJsonObject(stored.config)) return
  const document = inlineDocument(stored.config)
  if (document === undefined) return
  const content = Buffer.from(typeof document === 'string' ? document : JSON.stringify(document))
  const sha256 = createHash('sha256').update(content).digest('hex')
  const servers = documentOrigins(document)
  const standIn = { sha256, bytes: content.length, ...(servers ? { servers } : {}) }
  const config: JsonObject = { ...stored, config: withStoredDocument(stored.config, standIn) }
  await sql`insert into server_document (server_id, sha256, bytes, content)
    values (${id}, ${sha256}, ${content.length}, ${content})`.execute(db)
  await sql`update server set config = ${JSON.stringify(config)} where id = ${id}`.execute(db)
}
