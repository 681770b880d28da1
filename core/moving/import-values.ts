import { HOSTED_KEY_PREFIX } from '../domain/server/header-consents.ts'
import type { ImportResult, ImportScope, Of } from './import-scope.ts'

/** Sets a setting of a user, or a key of a hosted platform, unless there is one that is not to be replaced. */
export function importValue(
  scope: ImportScope,
  item: Of<'setting' | 'secret'>,
  ownerId: string,
  warnings: string[],
): Promise<ImportResult> {
  return item.kind === 'setting' ? setting(scope, item, ownerId, warnings) : secret(scope, item, ownerId, warnings)
}

async function setting(
  scope: ImportScope,
  item: Of<'setting'>,
  owner: string,
  warnings: string[],
): Promise<ImportResult> {
  const { actor, made, parts } = scope
  const { settings } = parts.registry
  const { name, value } = item
  const present = (await settings.user(owner))[name]
  if (present === value) return { verdict: 'same' }
  const write = async () => {
    await settings.setUser(actor, owner, { [name]: value })
    return value
  }
  if (present !== undefined) {
    if (!scope.replaces(item, { ownerId: owner }, warnings)) return { verdict: 'exists' }
    return scope.replace({ kind: 'setting', id: name, name, owner }, { value: present }, write)
  }
  await parts.attempt(write)
  made.push({ kind: 'setting', id: name, name, owner, revision: value })
  return { verdict: 'new' }
}

async function secret(
  scope: ImportScope,
  item: Of<'secret'>,
  owner: string,
  warnings: string[],
): Promise<ImportResult> {
  const { actor, made, parts } = scope
  const { settings } = parts.registry
  const { name, value } = item
  const key = `${HOSTED_KEY_PREFIX}${name}`
  const write = async () => {
    await settings.setUser(actor, owner, {}, { [key]: value })
    return (await settings.userSecretTimes(owner, key))[key] ?? ''
  }
  // Its value is not compared: an import must not tell by trial what is stored.
  if (Object.hasOwn(await settings.userSecretTimes(owner, key), key)) {
    if (!scope.replaces(item, { ownerId: owner }, warnings)) return { verdict: 'same' }
    const before = await settings.openUserSecret(owner, key)
    return scope.replace({ kind: 'secret', id: name, name, owner }, { value: before ?? '' }, write)
  }
  const revision = await parts.attempt(write)
  made.push({ kind: 'secret', id: name, name, owner, revision })
  return { verdict: 'new' }
}
