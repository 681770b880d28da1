import type { JsonObject } from '../contract/json.ts'
import { formatRef, nameKey } from '../domain/names.ts'
import type { UserRecord } from '../registry/api.ts'
import { isSameSetting } from '../registry/owned/moving.ts'
import type { OwnedSetting } from '../registry/owned/settings.ts'
import type { ImportResult, ImportScope, Of, OwnedItemKind } from './import-scope.ts'

/** Kinds that act by themselves: their owner must check them first when somebody else wrote them. */
const ACTING: ReadonlySet<OwnedItemKind> = new Set(['channel', 'endpoint'])

/** Makes a rule, channel, dashboard or endpoint, or compares it with the one that is there. Throws `validation_failed`, `admin_only`. */
export async function importOwned(
  scope: ImportScope,
  item: Of<OwnedItemKind>,
  name: string,
  owner: UserRecord,
  warnings: string[],
): Promise<ImportResult> {
  const { actor, records } = scope
  const { kind } = item
  const { settings, prepare } = records[kind]
  const ownerName = owner.id === actor.userId ? undefined : owner.name
  scope.missing = item.missing ?? []
  const isUnseen = ACTING.has(kind) && scope.isUnseen(item, owner)
  const body = { ...renamedRefs(scope, kind, item.body), name, ...switchedOff(scope, item, isUnseen, warnings) }
  const present = (await settings.list(actor, ownerName)).find(one => nameKey(one.name) === nameKey(name))
  const prepared = await prepare(actor, owner, body, present)
  if (!present) {
    const made = await scope.attempt(kind, owner, () =>
      settings.create(actor, ownerName, prepared, { unseen: isUnseen }),
    )
    warnings.push(...newWarnings(item))
    scope.made.push({ kind, id: made.id, name, owner: owner.id, revision: made.revision })
    return { verdict: 'new' }
  }
  if (isSameSetting(present, prepared)) return { verdict: 'same' }
  const { origin } = present
  if (!scope.replaces(item, { ownerId: owner.id, origin, isUnseen }, warnings)) return { verdict: 'exists' }
  return replaceOwned(scope, kind, present, prepared)
}

async function replaceOwned(
  scope: ImportScope,
  kind: OwnedItemKind,
  present: OwnedSetting,
  prepared: Awaited<ReturnType<ImportScope['records'][OwnedItemKind]['prepare']>>,
): Promise<ImportResult> {
  const { actor, records } = scope
  const { id, name, owner, revision: ifRevision } = present
  const before = await records[kind].open(present, secret => secret)
  const limit = present.limited ? 'limited' : 'none'
  return scope.replace({ kind, id, name, owner: owner.id }, { body: before, limit }, async () => {
    const options = { ifRevision, whole: true } as const
    const changed = await records[kind].settings.replace(actor, formatRef(owner.name, name), prepared, options)
    return changed.revision
  })
}

/** Replaces names that the body takes from the same document by the new names of these items. */
function renamedRefs(scope: ImportScope, kind: OwnedItemKind, body: JsonObject): JsonObject {
  if (kind === 'rule' && Array.isArray(body.channels)) {
    const channels = body.channels.map(name => (typeof name === 'string' ? scope.nameOf('channel', name) : name))
    return { ...body, channels }
  }
  if (kind !== 'endpoint' || typeof body.group !== 'string') return body
  const at = body.group.lastIndexOf('/') + 1
  const [view, ref] = [body.group.slice(0, at), body.group.slice(at)]
  // A group comes before a server of the same name, as in the look-up.
  const asGroup = scope.refOf('group', ref)
  return { ...body, group: `${view}${asGroup === ref ? scope.refOf('server', ref) : asGroup}` }
}

function switchedOff(
  { options: { off } }: ImportScope,
  { kind, body: { enabled } }: Of<OwnedItemKind>,
  isUnseen: boolean,
  warnings: string[],
): JsonObject {
  if (isUnseen && enabled !== false) warnings.push('It came from somebody else, and is off until you switch it on')
  return isUnseen || (off && kind === 'endpoint') ? { enabled: false } : {}
}

function newWarnings({ kind, body: { direction, enabled } }: Of<OwnedItemKind>): string[] {
  if (kind !== 'endpoint') return []
  if (direction === 'inbound')
    return ['Its token is a new one: POST /api/assistant/endpoints/{ref}/token gives you one']
  return enabled === false ? [] : ['Two hubs must not dial one address: switch it off in the other one']
}
