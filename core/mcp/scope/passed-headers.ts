import type { ServerRecord, UserActor } from '../../contract/records.ts'
import { readHeaderConsents } from '../../domain/server/header-consents.ts'
import type { Registry } from '../../registry/api.ts'
import { CHAIN_HEADER, chainOf } from '../../secrets/hub-marks.ts'
import type { Scope } from './scope.ts'

/** Never forwarded, whatever a configuration says: credentials for the hub, MCP's own and hop-by-hop headers. */
const NEVER_PASSED =
  /^(authorization|x-auth-token|cookie|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|proxy-.*|mcp-.*)$/

/** Lower-case names of the caller's headers that are forwarded to one server. */
export type HeadersFor = (server: ServerRecord) => readonly string[]

/** Forwards no header of a caller to any server. */
export const NO_HEADERS: HeadersFor = () => []

/**
 * Returns the headers of a caller that are forwarded to each of these servers: to an own server all that it asks for, to
 * another owner's those that the caller agreed to in its settings. The wishes of a server's or a group's owner are ignored.
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
 * The headers of a request that are forwarded to some member of the scope, by lower-case name; undefined when there are
 * none. The hubs that the request passed, `chain` in the form of their header, are forwarded to every member.
 */
export function passedHeaders(
  headers: Headers,
  chain: string | null,
  scope: Scope,
): Readonly<Record<string, string>> | undefined {
  const names = scope.resolved.passthroughHeaders
  if (names.length === 0 && chain === null) return undefined
  const passed: Record<string, string> = chain === null ? {} : { [CHAIN_HEADER]: chainOf(chain).join(', ') }
  for (const name of names) {
    const value = headers.get(name)
    if (value !== null) passed[name] = value
  }
  return passed
}
