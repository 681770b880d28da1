import type { ServerRecord, UserActor } from '../../contract/records.ts'
import { readHeaderConsents } from '../../domain/server/header-consents.ts'
import type { Registry } from '../../registry/api.ts'
import { CHAIN_HEADER, chainOf } from '../../secrets/hub-marks.ts'
import type { Scope } from './scope.ts'

/** Credentials for the hub, what MCP itself sets, and what belongs to one connection; whatever a configuration says. */
const NEVER_PASSED =
  /^(authorization|x-auth-token|cookie|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|proxy-.*|mcp-.*)$/

/** The lower-case names of a caller's headers that reach one server. */
export type HeadersFor = (server: ServerRecord) => readonly string[]

/** No header of a caller reaches any server. */
export const NO_HEADERS: HeadersFor = () => []

/**
 * Which headers of a caller reach which of these servers: to an own server all that it asks for, to another owner's those that
 * the caller has agreed to in its own settings. What the server's owner, or the owner of a group, wants does not count.
 */
export async function headersFor(
  settings: Pick<Registry['settings'], 'user'>,
  actor: UserActor,
  servers: readonly ServerRecord[],
): Promise<HeadersFor> {
  const asking = servers.filter(server => server.passthroughHeaders.length > 0)
  if (asking.length === 0) return NO_HEADERS
  const foreign = asking.some(server => server.ownerId !== actor.userId)
  const consents = readHeaderConsents(foreign ? await settings.user(actor.userId) : {})
  return server => {
    const wanted = server.passthroughHeaders.map(name => name.toLowerCase()).filter(name => !NEVER_PASSED.test(name))
    if (server.ownerId === actor.userId) return wanted
    const agreed = consents.get(server.id)
    if (agreed?.ownerId !== server.ownerId) return []
    return wanted.filter(name => agreed.headers.includes(name))
  }
}

/**
 * The headers of a request that some member of the scope gets, by lower-case name; undefined when none gets any. The hubs that
 * it came through go to every member.
 */
export function passedHeaders(headers: Headers, scope: Scope): Readonly<Record<string, string>> | undefined {
  const names = scope.resolved.passthroughHeaders
  const chain = headers.get(CHAIN_HEADER)
  if (names.length === 0 && chain === null) return undefined
  const passed: Record<string, string> = chain === null ? {} : { [CHAIN_HEADER]: chainOf(chain).join(', ') }
  for (const name of names) {
    const value = headers.get(name)
    if (value !== null) passed[name] = value
  }
  return passed
}
