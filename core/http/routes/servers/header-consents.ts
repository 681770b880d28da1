import { LIMITS } from '../../../config/limits.ts'
import { type FieldError, HubError } from '../../../contract/errors.ts'
import type { UserActor } from '../../../contract/records.ts'
import { pointerToken } from '../../../domain/json/json-pointer.ts'
import { checkPassthroughHeader, HEADER_COUNT } from '../../../domain/server/address.ts'
import { type HeaderConsent, readHeaderConsents, storedHeaderConsents } from '../../../domain/server/header-consents.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { Registry } from '../../../registry/api.ts'
import { qualified } from '../views.ts'

type Registries = Pick<Registry, 'settings' | 'servers'>

/** Header names by server reference; null withdraws the consent. */
export type ConsentPatch = Readonly<Record<string, readonly string[] | null>>

/** The caller's consents by `owner~name`, without deleted servers and those that changed their owner. */
export async function shownConsents({ settings, servers }: Registries, actor: UserActor) {
  const shown: Record<string, readonly string[]> = {}
  for (const [serverId, { ownerId, headers }] of readHeaderConsents(await settings.user(actor.userId))) {
    const server = await servers.byId(actor, serverId)
    if (server?.ownerId === ownerId) shown[qualified(server)] = headers
  }
  return shown
}

/** The setting after a change. Throws `validation_failed` with every invalid server and header name. */
export async function changedConsents({ settings, servers }: Registries, actor: UserActor, patch: ConsentPatch) {
  // Checked before any server is read.
  const count = Object.keys(patch).length
  if (count > LIMITS.passthroughServersPerUser) throw validationError([tooMany(count)])
  const consents = readHeaderConsents(await settings.user(actor.userId))
  const errors: FieldError[] = []
  for (const [ref, names] of Object.entries(patch)) {
    const pointer = `#/passthroughHeaders/${pointerToken(ref)}`
    try {
      const { id, ownerId } = await servers.resolve(actor, ref, 'use')
      if (names === null || names.length === 0) consents.delete(id)
      else consents.set(id, { ownerId, headers: checkedNames(names, pointer, errors) } satisfies HeaderConsent)
    } catch (error) {
      if (!(error instanceof HubError) || error.status >= 500) throw error
      const code = error.code === 'server_ambiguous' ? 'ambiguous' : 'member_not_found'
      errors.push({ pointer, code, detail: error.message })
    }
  }
  if (consents.size > LIMITS.passthroughServersPerUser) errors.push(tooMany(consents.size))
  if (errors.length > 0) throw validationError(errors)
  return storedHeaderConsents(consents)
}

function tooMany(count: number): FieldError {
  const detail = `Headers for ${count} servers; at most ${LIMITS.passthroughServersPerUser} are kept`
  return { pointer: '#/passthroughHeaders', code: 'length', detail }
}

function checkedNames(names: readonly string[], pointer: string, errors: FieldError[]): string[] {
  if (names.length > HEADER_COUNT) {
    const detail = `At most ${HEADER_COUNT} headers are passed on, not ${names.length}`
    errors.push({ pointer, code: 'headers_too_large', detail })
    return []
  }
  for (const [index, name] of names.entries()) {
    checkPassthroughHeader(name, `${pointer}/${index}`, error => errors.push(error))
  }
  return [...new Set(names.map(name => name.toLowerCase()))]
}
