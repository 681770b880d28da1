import type { UserActor } from '../contract/records.ts'
import { HOSTED_KEY_PREFIX } from '../domain/server/header-consents.ts'
import type { TogetherParts } from '../registry/create.ts'
import type { ImportItem, ImportVerdict, MadeItem } from './import-items.ts'

type Value = Extract<ImportItem, { kind: 'setting' | 'secret' }>

/** What became of a value, and what was made. */
export interface ImportedValue {
  readonly verdict: ImportVerdict
  readonly made?: MadeItem
}

/** Sets a setting of a user, or a key of a hosted platform, unless there is one. */
export function importValue(
  parts: TogetherParts,
  actor: UserActor,
  item: Value,
  ownerId: string,
): Promise<ImportedValue> {
  return item.kind === 'setting' ? setting(parts, actor, item, ownerId) : secret(parts, actor, item, ownerId)
}

async function setting(
  { registry, attempt }: TogetherParts,
  actor: UserActor,
  { name, value }: Value,
  owner: string,
): Promise<ImportedValue> {
  const present = (await registry.settings.user(owner))[name]
  if (present !== undefined) return { verdict: present === value ? 'same' : 'exists' }
  await attempt(() => registry.settings.setUser(actor, owner, { [name]: value }))
  return { verdict: 'new', made: { kind: 'setting', id: name, name, owner, revision: value } }
}

async function secret(
  { registry, attempt }: TogetherParts,
  actor: UserActor,
  { name, value }: Value,
  owner: string,
): Promise<ImportedValue> {
  const { settings } = registry
  const key = `${HOSTED_KEY_PREFIX}${name}`
  // Its value is not compared: whoever imports must not learn by trying what is stored.
  if (Object.hasOwn(await settings.userSecretInfo(owner, key), key)) return { verdict: 'same' }
  await attempt(() => settings.setUserSecret(actor, owner, key, value))
  const setAt = (await settings.userSecretInfo(owner, key))[key]?.setAt ?? ''
  return { verdict: 'new', made: { kind: 'secret', id: name, name, owner, revision: setAt } }
}
