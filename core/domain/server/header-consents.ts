import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** The key of a user's setting that holds the consents. */
export const HEADER_CONSENTS = 'passthroughHeaders'

/** What a user lets pass to one server of another owner. */
export interface HeaderConsent {
  /** Whose server it was when the user agreed: a later owner was not agreed to. */
  readonly ownerId: string
  /** Lower-case names. */
  readonly headers: readonly string[]
}

/** The consents in a user's stored settings, by the server's id. */
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

/** The consents as they are stored; null where there are none. */
export function storedHeaderConsents(consents: ReadonlyMap<string, HeaderConsent>): JsonObject | null {
  if (consents.size === 0) return null
  return Object.fromEntries(
    [...consents].map(([serverId, { ownerId, headers }]) => [serverId, { ownerId, headers: [...headers] }]),
  )
}
