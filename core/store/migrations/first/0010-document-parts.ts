import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Bytes of one row. A later change of this size takes a new migration or none: parts of any size can be joined. */
const PART_BYTES = 1024 * 1024

interface Row {
  readonly sha256: string
  readonly bytes: number
  readonly content: Uint8Array
}

/**
 * Inline OpenAPI documents are stored in parts, each written and read in a turn of its own, and before the server that they
 * belong to: until then they have no server. Documents are moved one by one, so that only one is in memory.
 */
export function documentParts(dialect: 'sqlite' | 'postgres'): Migration {
  return {
    async up(db: Kysely<never>) {
      await db.schema
        .createTable('openapi_document')
        .addColumn('id', 'text', column => column.primaryKey())
        .addColumn('server_id', 'text', column => column.unique().references('server.id').onDelete('cascade'))
        .addColumn('sha256', 'text', column => column.notNull())
        .addColumn('bytes', 'integer', column => column.notNull())
        .execute()
      await db.schema
        .createTable('openapi_document_part')
        .addColumn('document_id', 'text', column =>
          column.notNull().references('openapi_document.id').onDelete('cascade'),
        )
        .addColumn('part', 'integer', column => column.notNull())
        .addColumn('content', dialect === 'sqlite' ? 'blob' : 'bytea', column => column.notNull())
        .addPrimaryKeyConstraint('openapi_document_part_key', ['document_id', 'part'])
        .execute()
      const documents = await sql<{ server_id: string }>`select server_id from server_document`.execute(db)
      for (const { server_id } of documents.rows) await moveDocument(db, server_id)
      await db.schema.dropTable('server_document').execute()
    },
  }
}

async function moveDocument(db: Kysely<never>, serverId: string): Promise<void> {
  const { rows } = await sql<Row>`select sha256, bytes, content from server_document
    where server_id = ${serverId}`.execute(db)
  const [row] = rows
  if (!row) return
  const { sha256, bytes, content } = row
  await sql`insert into openapi_document (id, server_id, sha256, bytes)
    values (${serverId}, ${serverId}, ${sha256}, ${bytes})`.execute(db)
  for (let part = 0; part * PART_BYTES < content.length; part += 1) {
    const piece = Buffer.from(content.subarray(part * PART_BYTES, (part + 1) * PART_BYTES))
    await sql`insert into openapi_document_part (document_id, part, content)
      values (${serverId}, ${part}, ${piece})`.execute(db)
  }
}
