import type { JsonObject } from '../contract/json.ts'
import { formatRef, nameKey } from '../domain/names.ts'
import type { UserRecord } from '../registry/api.ts'
import { isSameSetting, type MovingRecords } from '../registry/owned/moving.ts'
import type { OwnedSetting, Prepare } from '../registry/owned/settings.ts'
import type { ImportResult, ImportScope, Of } from './import-scope.ts'

/** Makes a record, or compares it with the one that is there. Throws `validation_failed`, `admin_only`. */
export async function importOwned(
  scope: ImportScope,
  item: Of<'record'>,
  name: string,
  owner: UserRecord,
  warnings: string[],
): Promise<ImportResult> {
  const { actor } = scope
  const records = scope.recordsOf(item.record)
  if (!records) throw new Error(`There is no kind of records "${item.record}"`)
  const { kind, settings, prepare } = records
  const ownerName = owner.id === actor.userId ? undefined : owner.name
  scope.missing = item.missing ?? []
  const isUnseen = kind.moved.offUnlessSeen && scope.isUnseen(item, owner)
  const written = records.renamed?.(item.body, {
    nameOf: (of, one) => scope.nameOf(of, one),
    refOf: scope.refOf.bind(scope),
  })
  const body = { ...(written ?? item.body), name, ...switchedOff(scope, records, item.body, isUnseen, warnings) }
  const present = (await settings.list(actor, ownerName)).find(one => nameKey(one.name) === nameKey(name))
  const prepared = await prepare(actor, owner, body, present)
  if (!present) {
    const made = await scope.attempt(kind.kind, owner, () =>
      settings.create(actor, ownerName, prepared, { unseen: isUnseen }),
    )
    warnings.push(...(records.warnings?.(item.body) ?? []))
    scope.made.push({ kind: kind.kind, id: made.id, name, owner: owner.id, revision: made.revision })
    return { verdict: 'new' }
  }
  if (isSameSetting(present, prepared)) return { verdict: 'same' }
  const { origin } = present
  if (!scope.replaces(item, { ownerId: owner.id, origin, isUnseen }, warnings)) return { verdict: 'exists' }
  return replaceOwned(scope, records, present, prepared)
}

async function replaceOwned(
  scope: ImportScope,
  { kind: { kind }, open, settings }: MovingRecords,
  present: OwnedSetting,
  prepared: Prepare,
): Promise<ImportResult> {
  const { id, name, owner, revision: ifRevision } = present
  const before = await open(present, secret => secret)
  const limit = present.limited ? 'limited' : 'none'
  return scope.replace({ kind, id, name, owner: owner.id }, { body: before, limit }, async () => {
    const options = { ifRevision, whole: true } as const
    const changed = await settings.replace(scope.actor, formatRef(owner.name, name), prepared, options)
    return changed.revision
  })
}

function switchedOff(
  { options: { off } }: ImportScope,
  { kind: { moved } }: MovingRecords,
  { enabled }: JsonObject,
  isUnseen: boolean,
  warnings: string[],
): JsonObject {
  if (isUnseen && enabled !== false) warnings.push('It came from somebody else, and is off until you switch it on')
  return isUnseen || (off && moved.offOnRequest) ? { enabled: false } : {}
}
