import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** The key of a user's setting that holds the consents. */
export const HEADER_CONSENTS = 'passthroughHeaders'

/** Prefix of the keys of hosted platforms among a user's secrets. */
export const HOSTED_KEY_PREFIX = 'hostedKeys.'

/** The headers that a user passes to one server of another owner. */
export interface HeaderConsent {
  /** The server's owner at the time of consent: it does not extend to a later owner. */
  readonly ownerId: string
  /** Lower-case names. */
  readonly headers: readonly string[]
}

/** The consents in a user's stored settings, by server id. */
export function readHeaderConsents(settings: Readonly<Record<string, JsonValue>>): Map<string, HeaderConsent> {
  const stored = settings[HEADER_CONSENTS]
  const consents = new Map<string, HeaderConsent>()
  if (!isJsonObject(stored)) return consents
  for (const [serverId, value] of Object.entries(stored)) {
    if (!isJsonObject(value) || typeof value.ownerId !== 'string' || !Array.isArray(value.headers)) continue
    const headers = value.headers.filter(name => typeof name === 'string')
    consents.set(serverId, { ownerId: value.ownerId, headers })
  }
  return consents
}

/** The stored form of the consents; null if there are none. */
export function storedHeaderConsents(consents: ReadonlyMap<string, HeaderConsent>): JsonObject | null {
  if (consents.size === 0) return null
  return Object.fromEntries(
    [...consents].map(([serverId, { ownerId, headers }]) => [serverId, { ownerId, headers: [...headers] }]),
  )
}
