import { decodeJwt } from 'jose'
import type { GuardedFetch, PluginContext } from 'patchbay/contract'
import { isSameIssuer, issuerMetadata } from '../discovery/discovery.ts'
import type { ServerOauth } from '../server-config.ts'
import type { SubjectToken } from '../types.ts'
import type { Clients } from './clients.ts'
import { TokenEndpoint, type Tokens } from './tokens.ts'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ASSERTION = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

/** An exchange of a user's identity for tokens of a server. */
export interface Exchange {
  readonly fetch: GuardedFetch
  readonly server: URL
  readonly oauth: ServerOauth
  readonly userId: string
  readonly ownerId: string
  /** The issuer of the server, and its token endpoint. */
  readonly issuer: string
  readonly endpoint: TokenEndpoint
  readonly resource: string
  readonly scopes: readonly string[]
}

/**
 * Exchanges the identities that plugins have of users: at the server's issuer (RFC 8693, or RFC 7523 for a workload's), or by an ID-JAG
 * of their provider.
 */
export class Exchanges {
  readonly #context: PluginContext<unknown>
  readonly #clients: Clients

  constructor(context: PluginContext<unknown>, clients: Clients) {
    this.#context = context
    this.#clients = clients
  }

  /** Undefined: no plugin has a token of the user from that issuer. Throws as `TokenEndpoint` does, and what discovery throws. */
  async tokens(exchange: Exchange): Promise<Tokens | undefined> {
    const { oauth, issuer, endpoint, resource, scopes, userId } = exchange
    const scope = scopes.length === 0 ? {} : { scope: scopes.join(' ') }
    if (!(await this.#mayExchange(exchange))) return undefined
    const isDirect = oauth.grant === 'jwt_bearer'
    const from = oauth.grant === 'token_exchange' ? issuer : oauth.identity?.issuer
    const subject = await this.#subject(userId, from, isDirect ? issuer : undefined)
    if (!subject) return undefined
    if (isDirect) {
      this.#requireAudience(subject, issuer)
      const asked = { assertion: subject.token, ...scope }
      return endpoint.grant(ASSERTION, oauth.omitsResource ? asked : { ...asked, resource })
    }
    if (oauth.grant === 'token_exchange') {
      const asked = { ...subjectOf(subject), requested_token_type: ACCESS_TOKEN, ...scope }
      return endpoint.grant(EXCHANGE, oauth.omitsResource ? asked : { ...asked, resource })
    }
    const assertion = await this.#idJag(exchange, subject)
    return assertion === undefined ? undefined : endpoint.grant(ASSERTION, { assertion, ...scope })
  }

  /** Nobody asks for the user here, so an identity goes to servers of the user and of administrators alone. */
  async #mayExchange({ userId, ownerId }: Exchange): Promise<boolean> {
    return userId === ownerId || (await this.#context.people.byId(ownerId))?.role === 'admin'
  }

  /** The provider's assertion of the user's identity for the issuer of the server. */
  async #idJag({ fetch, server, oauth, issuer, resource, scopes }: Exchange, subject: SubjectToken) {
    const { identity } = oauth
    if (!identity) return undefined
    if (identity.client.clientId === undefined)
      throw this.#context.error(
        'client_needed',
        '"id_jag" needs the client of the hub at the provider: set "oauth.identity.clientId"',
        {
          data: { redirectUri: '' },
        },
      )
    const provider = await issuerMetadata(this.#context, fetch, identity.issuer, server)
    const client = await this.#clients.of(fetch, provider, { redirectUri: '', document: undefined }, identity.client)
    return new TokenEndpoint(this.#context, fetch, provider, client).assertion(EXCHANGE, {
      ...subjectOf(subject),
      requested_token_type: ID_JAG,
      audience: issuer,
      resource,
      ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    })
  }

  /** Throws `issuer_unusable` for an identity that is for somebody else, who could use it in the place of the user. */
  #requireAudience({ token }: SubjectToken, issuer: string): void {
    if (audiencesOf(token).some(one => isSameIssuer(one, issuer))) return
    throw this.#context.error(
      'issuer_unusable',
      `The identity that a plugin has of you is not for ${issuer}: its audience is another one, and it was not sent`,
    )
  }

  async #subject(
    userId: string,
    issuer: string | undefined,
    audience: string | undefined,
  ): Promise<SubjectToken | undefined> {
    if (issuer === undefined) return undefined
    for (const source of this.#context.contributions('tokenGrant').values()) {
      const found = await source.subjectToken(userId, issuer, audience)
      if (found) return found
    }
    return undefined
  }
}

function audiencesOf(token: string): readonly string[] {
  try {
    const { aud } = decodeJwt(token)
    return typeof aud === 'string' ? [aud] : (aud ?? [])
  } catch {
    return []
  }
}

function subjectOf({ token, type }: SubjectToken) {
  return { subject_token: token, subject_token_type: type }
}
