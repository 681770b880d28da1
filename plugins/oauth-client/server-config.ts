import { isJsonObject, type JsonObject, type PluginContext } from 'patchbay/contract'
import type { CredentialTarget } from 'patchbay/features'
import { texts } from './discovery/discovery.ts'
import type { ClientMethod, GivenClient } from './tokens/clients.ts'

/** The `oauth` of a server. */
export interface ServerOauth extends GivenClient {
  readonly scopes?: readonly string[] | undefined
  readonly issuer?: string | undefined
  /** The parameter `resource` is left out. */
  readonly omitsResource: boolean
  /** Parameters beside the usual ones at the issuer's page. */
  readonly parameters: Readonly<Record<string, string>>
  readonly grant: ServerGrant
  /** The issuer of the identity of a user, with `id_jag` and `jwt_bearer`; `client`: of the hub there, with `id_jag`. */
  readonly identity?: { readonly issuer: string; readonly client: GivenClient } | undefined
}

/** The way to tokens: by a person's sign-in, by the hub as a client, or by the identity that a plugin has of a user. */
export type ServerGrant = 'code' | 'device' | 'client_credentials' | 'id_jag' | 'token_exchange' | 'jwt_bearer'

const GRANTS: readonly unknown[] = [
  ...(['code', 'device', 'client_credentials', 'id_jag', 'token_exchange', 'jwt_bearer'] satisfies ServerGrant[]),
]

/** The `oauth` of a server's configuration; undefined for a server without sign-in. */
export function serverOauth({ oauth }: JsonObject): ServerOauth | undefined {
  if (!isJsonObject(oauth)) return undefined
  const { clientId, clientSecret, key, method, scopes, issuer, resource, grant, identity, parameters } = oauth
  return {
    clientId: textOf(clientId),
    clientSecret: textOf(clientSecret),
    key: textOf(key),
    method: textOf(method) as ClientMethod | undefined,
    scopes: texts(scopes),
    issuer: textOf(issuer),
    omitsResource: resource === 'omit',
    parameters: isJsonObject(parameters) ? (parameters as Record<string, string>) : {},
    grant: GRANTS.includes(grant) ? (grant as ServerGrant) : 'code',
    identity: identityOf(identity),
  }
}

/** True when a person signs in; the other grants need nobody. */
export function isByPerson({ grant }: Pick<ServerOauth, 'grant'>): boolean {
  return grant === 'code' || grant === 'device'
}

function identityOf(identity: unknown): ServerOauth['identity'] {
  if (!isJsonObject(identity)) return undefined
  const issuer = textOf(identity.issuer)
  const clientId = textOf(identity.clientId)
  if (issuer === undefined) return undefined
  return { issuer, client: { clientId, clientSecret: textOf(identity.clientSecret) } }
}

/**
 * Notes that people sign in at a server whose owner wants a credential of each caller: before that only the owner could. Where it
 * cannot be noted, the owner signs in first.
 */
export async function markForCallers(
  { people, registry, servers }: Pick<PluginContext<unknown>, 'people' | 'registry' | 'servers'>,
  { id, ownerId, config }: CredentialTarget,
): Promise<void> {
  if (config.credentials !== 'caller' || config.oauth !== undefined) return
  const owner = await people.actor(ownerId)
  const record = owner && (await registry.server(owner, id))
  if (!owner || !record) return
  await servers.patch(owner, `${record.ownerName}~${record.name}`, { oauth: {} }).catch(() => undefined)
}

/** The address of a server; undefined for one without. */
export function serverUrl({ url }: JsonObject): URL | undefined {
  return typeof url === 'string' ? (URL.parse(url) ?? undefined) : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
