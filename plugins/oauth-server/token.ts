import type { GrantScope, PluginContext, RouteAnswer } from 'patchbay/contract'
import { ACCESS_SECONDS, type AccessTokens } from './access-tokens.ts'
import type { ClientProof } from './client-proof.ts'
import { CLIENT_ROUTE } from './client-route.ts'
import { OAuthError, oauthAnswer } from './errors.ts'
import { FormGate, type Handler, type RawRequest } from './form-gate.ts'
import type { Grants, Issuable } from './grants.ts'
import { resourceAt } from './site.ts'
import { type ClientMethod, scopesOf, type Tables } from './tables.ts'

const MOST_BYTES = 32 * 1_024

/** Refusals that both routes have. */
const refusals = {
  401: oauthAnswer('invalid_client'),
  403: oauthAnswer('access_denied', 'access_denied: no sign-in without https'),
  429: oauthAnswer(
    'rate_limited',
    'rate_limited, after 20 failures a minute with one code or token, or 300 of an address',
  ),
}

interface TokenDeps {
  readonly grants: Grants
  readonly tokens: AccessTokens
  readonly proof: ClientProof
  readonly tables: Tables
}

/** Adds `/token` (RFC 6749, sections 4.1.3 and 6) and `/revoke` (RFC 7009). */
export function addToken({ routes, isLocal }: PluginContext<unknown>, deps: TokenDeps): void {
  const { grants, tokens, proof } = deps
  const common = {
    method: 'POST',
    ...CLIENT_ROUTE,
  } as const

  /** The grant of what was sent, by which failures count: never the client's id, by which a stranger could lock out its users. */
  const grantSent = async (form: ReadonlyMap<string, string>): Promise<string | undefined> => {
    const code = form.get('code')
    if (code !== undefined) return grants.ofCode(code)
    const token = form.get('refresh_token') ?? form.get('token')
    return token === undefined ? undefined : grants.ofRefreshToken(token)
  }

  const gate = new FormGate(grantSent, isLocal)

  const agreed = (grantId: string | undefined) => async (clientId: string) => {
    if (grantId === undefined) return undefined
    const row = await deps.tables.read(db =>
      db
        .selectFrom('grants')
        .select(['client_method', 'user_id'])
        .where('id', '=', grantId)
        .where('client_id', '=', clientId)
        .executeTakeFirst(),
    )
    return row && { method: row.client_method as ClientMethod, userId: row.user_id }
  }

  const guarded = (handle: Handler) => (request: RawRequest) => gate.run(request, handle)

  const issued = async ({ grant, refreshToken }: Issuable, wanted: readonly GrantScope[]): Promise<RouteAnswer> => {
    const { id: grantId, user_id: userId, client_id: clientId, base: issuer, resource, epoch } = grant
    const access = await tokens.sign({ grantId, userId, clientId, issuer, resource, scopes: wanted, epoch })
    return {
      headers: { pragma: 'no-cache' },
      body: {
        access_token: access,
        token_type: 'Bearer',
        expires_in: ACCESS_SECONDS,
        refresh_token: refreshToken,
        scope: wanted.join(' '),
      },
    }
  }

  routes.add({
    ...common,
    path: '/token',
    rawBody: MOST_BYTES,
    summary: 'Tokens for a code or a refresh token',
    answers: {
      200: { description: 'The tokens' },
      400: oauthAnswer(
        'invalid_grant',
        'invalid_grant, invalid_request, invalid_scope, invalid_target, unsupported_grant_type',
      ),
      ...refusals,
    },
    handle: guarded(async request => {
      const { form, baseUrl } = request
      const type = form.get('grant_type')
      if (type !== 'authorization_code' && type !== 'refresh_token') {
        if (type === undefined) throw new OAuthError('invalid_request', 'The parameter "grant_type" is missing')
        throw new OAuthError('unsupported_grant_type', 'The grant type is not "authorization_code" or "refresh_token"')
      }
      const clientId = await proof.check(request, agreed(await grantSent(form)))
      const resource = resourceOf(form, baseUrl)
      if (type === 'refresh_token') {
        const scope = form.get('scope')
        const found = await grants.refresh(needed(form, 'refresh_token'), clientId, grant => {
          if (resource !== undefined && resource !== grant.resource)
            throw new OAuthError('invalid_target', 'The resource is another than in the request')
          narrowed(scopesOf(grant.scopes), scope)
        })
        return issued(found, narrowed(scopesOf(found.grant.scopes), scope))
      }
      const verifier = needed(form, 'code_verifier')
      if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier))
        throw new OAuthError('invalid_grant', 'The code verifier has not 43 to 128 characters')
      const [code, redirectUri] = [needed(form, 'code'), needed(form, 'redirect_uri')]
      const found = await grants.redeem({ code, clientId, redirectUri, verifier, resource })
      return issued(found, scopesOf(found.grant.scopes))
    }),
  })

  routes.add({
    ...common,
    path: '/revoke',
    rawBody: MOST_BYTES,
    summary: 'End what a token belongs to',
    answers: {
      200: { description: 'The token opens nothing any more, if it ever did' },
      400: oauthAnswer('invalid_request'),
      ...refusals,
    },
    handle: guarded(async request => {
      const token = needed(request.form, 'token')
      const claims = token.startsWith('pbr_') ? undefined : await tokens.read(token).catch(() => undefined)
      const grantId = claims?.grantId ?? grants.ofRefreshToken(token)
      const clientId = await proof.check(request, agreed(grantId))
      const isOwn = grantId !== undefined && (await agreed(grantId)(clientId)) !== undefined
      if (isOwn) await grants.end({ id: grantId })
      return { status: 200, body: {} }
    }),
  })
}

function needed(form: ReadonlyMap<string, string>, name: string): string {
  const value = form.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `The parameter "${name}" is missing`)
  return value
}

function resourceOf(form: ReadonlyMap<string, string>, baseUrl: string): string | undefined {
  const text = form.get('resource')
  if (text === undefined) return undefined
  const resource = resourceAt(baseUrl, text)
  if (resource === undefined) throw new OAuthError('invalid_target', 'The resource is not one of this hub')
  return resource
}

/** Scopes of a token that is refreshed: those asked for, which the user must have agreed to. */
function narrowed(agreed: readonly GrantScope[], asked: string | undefined): readonly GrantScope[] {
  const wanted = scopesOf(asked ?? '')
  if (wanted.length === 0) return agreed
  const isMore = wanted.some(
    scope => !agreed.includes(scope) && !(scope === 'mcp:read' && agreed.includes('mcp:tools')),
  )
  if (isMore) throw new OAuthError('invalid_scope', 'The user has agreed to less')
  return wanted
}
