import { isJsonObject, type JsonObject } from 'patchbay/contract'
import type { ClientMethod, GivenClient } from './clients.ts'
import { texts } from './discovery.ts'

/** The `oauth` of a server. */
export interface ServerOauth extends GivenClient {
  readonly scopes?: readonly string[] | undefined
  readonly issuer?: string | undefined
  /** The parameter `resource` is left out. */
  readonly omitsResource: boolean
  readonly grant: 'code' | 'client_credentials'
}

/** The `oauth` of a server's configuration; undefined for a server without sign-in. */
export function serverOauth({ oauth }: JsonObject): ServerOauth | undefined {
  if (!isJsonObject(oauth)) return undefined
  const { clientId, clientSecret, key, method, scopes, issuer, resource, grant } = oauth
  return {
    clientId: textOf(clientId),
    clientSecret: textOf(clientSecret),
    key: textOf(key),
    method: textOf(method) as ClientMethod | undefined,
    scopes: texts(scopes),
    issuer: textOf(issuer),
    omitsResource: resource === 'omit',
    grant: grant === 'client_credentials' ? grant : 'code',
  }
}

/** The address of a server; undefined for one without. */
export function serverUrl({ url }: JsonObject): URL | undefined {
  return typeof url === 'string' ? (URL.parse(url) ?? undefined) : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
