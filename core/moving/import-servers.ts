import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord } from '../contract/records.ts'
import { fittingTags } from '../domain/groups/tags.ts'
import { formatRef } from '../domain/names.ts'
import { serverBodyOf } from '../domain/server/body.ts'
import { maskedSecrets } from '../domain/server/secrets.ts'
import { validationError } from '../domain/validation-error.ts'
import type { UserRecord } from '../registry/api.ts'
import { mapSecrets } from '../registry/servers/server-secrets.ts'
import { leadsToHub } from './import-own-entry.ts'
import { ownReferences } from './import-references.ts'
import { type ImportResult, type ImportScope, missing, type Of } from './import-scope.ts'

/** Makes a server, or compares it with the one that is there. Throws what the registry throws. */
export async function importServer(
  scope: ImportScope,
  item: Of<'server'>,
  name: string,
  owner: UserRecord,
  warnings: string[],
): Promise<ImportResult> {
  if (item.problem !== undefined) {
    throw validationError([{ pointer: item.pointer, code: 'import_invalid', detail: item.problem }])
  }
  const { answers, off, hubUrl } = scope.options
  if (leadsToHub(item.body, hubUrl)) {
    warnings.push('It leads to this hub')
    return { verdict: 'skipped' }
  }
  const own = ownReferences(item.body, answers, item.references)
  scope.missing = [...own.missing, ...(item.missing ?? [])]
  const missingValues = scope.missing.map(({ name }) => name)
  const isOff = off || missingValues.length > 0
  // A review is what a person says who has read the configuration: no document says so for them.
  const { reviewed: _, ...entry } = withFittingTags(own.body, warnings)
  const body = { ...entry, name, owner: owner.name, ...(isOff ? { enabled: false } : {}) }
  const { servers } = scope.parts.registry
  const unseen = scope.isUnseen(item, owner)
  const present = await servers.resolve(scope.actor, formatRef(owner.name, name), 'owner').catch(missing)
  if (present && (await isSameServer(scope, present, body))) return { verdict: 'same' }
  const { owner: __, ...shown } = maskedSecrets(scope.transports, body)
  if (present) {
    if (!scope.replaces(item, { ...present, isUnseen: unseen }, warnings)) return { verdict: 'exists' }
    return { ...(await replaceServer(scope, present, body, item)), body: shown }
  }
  if (missingValues.length > 0) warnings.push(`Switched off until it has: ${missingValues.join(', ')}`)
  const made = await scope.attempt(body.enabled === false ? 'server off' : 'server', owner, () =>
    servers.create(scope.actor, body, { unseen, template: item.template }),
  )
  if (made.awaitsReview) warnings.push('It is off until its new owner has reviewed it')
  scope.made.push({ kind: 'server', id: made.id, name, owner: owner.id, revision: made.revision })
  return { verdict: 'new', body: shown }
}

async function replaceServer(
  scope: ImportScope,
  present: ServerRecord,
  body: JsonObject,
  { template }: Of<'server'>,
): Promise<ImportResult> {
  const { servers } = scope.parts.registry
  const { id, name, ownerId: owner } = present
  const before = await servers.openBody(scope.actor, present, secret => secret)
  const origin = present.template ? { template: present.template } : {}
  return scope.replace({ kind: 'server', id, name, owner }, { body: before, ...origin }, async () => {
    const options = { ifRevision: present.revision, ...(template ? { template } : {}) }
    return (await servers.replace(scope.actor, formatRef(present.ownerName, name), body, options)).revision
  })
}

/** Made under another name, compared and taken back: only what is stored has every default. */
function isSameServer(scope: ImportScope, present: ServerRecord, body: JsonObject): Promise<boolean> {
  const { servers } = scope.parts.registry
  return scope.probe(async name => {
    const unseen = present.awaitsReview === true
    const made = await servers.create(scope.actor, { ...body, name }, { unseen })
    return isDeepStrictEqual(comparable(made), comparable(present))
  })
}

/**
 * The part of a server that decides whether two servers of one owner are the same. The values of secrets are left out: an
 * import must not reveal by trial what is stored.
 */
function comparable(record: ServerRecord): JsonObject {
  const { name, enabled, ...body } = serverBodyOf(mapSecrets(record, () => ''))
  return body
}

/** The body with the tags that fit here: a tag of another hub must not keep its server or group from being imported. */
export function withFittingTags(body: JsonObject, warnings: string[]): JsonObject {
  const { tags: written, ...rest } = body
  if (written === undefined || written === null) return rest
  const { tags, problem } = fittingTags(written)
  if (problem !== undefined) warnings.push(problem)
  return tags.length === 0 ? rest : { ...rest, tags: [...tags] }
}
