import { z } from 'zod'
import type { JsonObject } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import { mergePatch } from '../../domain/json/merge-patch.ts'
import type { AuditRegistry } from '../../registry/api.ts'
import type { OwnedRecords } from '../../registry/owned/records.ts'
import type { RecordKind } from '../../registry/record-kinds.ts'
import type { RequestInfo } from '../../request/request-info.ts'
import { type Route, route } from '../route.ts'
import { exampleList, listOf, pageFields, refParams, timestamp } from './schemas.ts'
import { refuseOtherIdentity } from './stated-identity.ts'
import { page, recordReply, writeOptions } from './views.ts'

/** Bytes of a body. */
const BODY_BYTES = 64 * 1024

/** The routes of one kind of record: its label, its schemas and its path. */
export interface RecordRoutes {
  readonly kind: Pick<RecordKind, 'label'>
  readonly tag: string
  /** Start of the names of its actions in the audit log. */
  readonly audited: string
  readonly path: string
  readonly records: OwnedRecords
  readonly audit: Pick<AuditRegistry, 'record'>
  readonly body: z.ZodType<JsonObject>
  /** Schema of a change of some fields. */
  readonly patch: z.ZodType<JsonObject>
  /** Summary of the route that deletes. Default: the kind in a sentence. */
  readonly deletes?: string
  /** Converts a change to the form of the answers, before it is merged into the stored record. Default: unchanged. */
  readonly inForm?: (change: JsonObject) => JsonObject
  readonly schema: z.ZodType
  readonly example: object
}

/** Fields of every answered record besides those of its kind. */
export const answeredFields = {
  id: z.string(),
  ref: z.string(),
  owner: z.string(),
  origin: z.enum(['api', 'file']).meta({ description: '`file`: held by the settings file, and changed there alone' }),
  revision: z.number().int(),
  createdAt: timestamp,
  updatedAt: timestamp,
  limited: z
    .literal(true)
    .optional()
    .meta({ description: 'It was saved last with the rights of an ordinary user, and has no more than these' }),
}

/** List, create, read, replace and delete. */
export function ownedRecordRoutes(of: RecordRoutes): Route[] {
  const { label: what } = of.kind
  const { tag, path, records, body, patch, schema, example, inForm = each => each } = of
  const one = { description: `The ${what}`, schema, example }
  const query = z.strictObject({
    owner: z.string().max(256).optional().meta({ description: 'Another user; administrators only' }),
    ...pageFields,
  })
  return [
    route({
      method: 'GET',
      path,
      access: 'user',
      tag,
      query,
      summary: `Your ${what}s, by name`,
      responses: { 200: { description: `A page of ${what}s`, schema: listOf(schema), example: exampleList(example) } },
      async handle({ actor, query: asked }) {
        return { body: page(await records.list(actor, asked.owner), asked) }
      },
    }),
    route({
      method: 'POST',
      path,
      access: 'user',
      tag,
      body,
      bodyLimit: BODY_BYTES,
      summary: `Make ${article(what)} ${what}`,
      responses: { 201: one },
      async handle({ actor, body: wanted, info }) {
        // An id and ref may be those of the record from which it was copied.
        refuseOtherIdentity(wanted, { owner: actor.name })
        const made = await records.create(actor, wanted)
        note(of, actor, info, 'create', made)
        return recordReply(made, 201, `${info.baseUrl}${path}/${encodeURIComponent(String(made.ref))}`)
      },
    }),
    route({
      method: 'GET',
      path: `${path}/{ref}`,
      access: 'user',
      tag,
      params: refParams,
      summary: `One ${what} by its name`,
      responses: { 200: one },
      async handle({ actor, params }) {
        return recordReply(await records.get(actor, params.ref))
      },
    }),
    route({
      method: 'PUT',
      path: `${path}/{ref}`,
      access: 'user',
      tag,
      params: refParams,
      body,
      bodyLimit: BODY_BYTES,
      summary: `Replace ${article(what)} ${what}`,
      responses: { 200: one },
      async handle({ actor, params, body: wanted, info, request }) {
        refuseOtherIdentity(wanted, await records.get(actor, params.ref))
        const changed = await records.replace(actor, params.ref, wanted, {
          ...writeOptions(request.headers),
          whole: true,
        })
        note(of, actor, info, 'update', changed)
        return recordReply(changed)
      },
    }),
    route({
      method: 'PATCH',
      path: `${path}/{ref}`,
      access: 'user',
      tag,
      params: refParams,
      body: patch,
      bodyLimit: BODY_BYTES,
      summary: `Change parts of ${article(what)} ${what} (RFC 7396)`,
      responses: { 200: one },
      async handle({ actor, params, body: change, info, request }) {
        const before = await records.get(actor, params.ref)
        refuseOtherIdentity(change, before)
        // The change applies to the revision that was read: another change in between is a conflict.
        const options = { ifRevision: Number(before.revision), ...writeOptions(request.headers) }
        const changed = await records.replace(actor, params.ref, mergePatch(before, inForm(change)), options)
        note(of, actor, info, 'update', changed)
        return recordReply(changed)
      },
    }),
    route({
      method: 'DELETE',
      path: `${path}/{ref}`,
      access: 'user',
      tag,
      params: refParams,
      summary: of.deletes ?? `Delete ${article(what)} ${what}`,
      responses: { 204: { description: 'Gone' } },
      async handle({ actor, params, info }) {
        const gone = await records.get(actor, params.ref)
        await records.remove(actor, params.ref)
        note(of, actor, info, 'delete', gone)
        return { status: 204 }
      },
    }),
  ]
}

function article(what: string): string {
  return /^[aeiou]/.test(what) ? 'an' : 'a'
}

/** Notes one change in the audit log. */
export function note(
  { audit, audited }: Pick<RecordRoutes, 'audited' | 'audit'>,
  actor: UserActor,
  info: RequestInfo,
  action: string,
  record: JsonObject,
): void {
  // The owner is the actor, or a user whose records the actor may change: the target contains the name.
  const target = String(record.ref)
  audit.record(actor, { action: `${audited}.${action}`, target, ownerId: actor.userId, request: info })
}
