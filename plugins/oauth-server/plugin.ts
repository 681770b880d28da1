import { definePlugin } from 'patchbay/contract'
import { AccessTokens } from './access-tokens.ts'
import { addAdminRoutes } from './admin-routes.ts'
import { addAuthorize } from './authorize.ts'
import { ClientProof } from './client-proof.ts'
import { Clients } from './clients.ts'
import { config, type OAuthServerConfig } from './config.ts'
import { addConsent } from './consent.ts'
import { ClientDocuments } from './documents.ts'
import { ERRORS, type Fail } from './errors.ts'
import { addElsewhere, externalTokens } from './external/setup.ts'
import { addGrantRoutes } from './grant-routes.ts'
import { Grants } from './grants.ts'
import { addMetadata } from './metadata.ts'
import { addRegistration } from './registration.ts'
import { SealedRequests } from './requests.ts'
import { SealedClients } from './sealed-clients.ts'
import { isSafe, RESOURCE_METADATA } from './site.ts'
import { first, type OAuthTables } from './tables.ts'
import { addToken } from './token.ts'
import { EndedGrants, tokenVerifier } from './verifier.ts'
import { words } from './words.zh.ts'

const SWEEP_MS = 600_000
const LIMITS = { grantsPerUser: 100, listedClients: 500 }

/** Lets clients sign in to `/mcp` with the consent of a user (OAuth 2.1, as MCP's authorization wants it). */
export default definePlugin<OAuthServerConfig>({
  name: 'oauth-server',
  contract: 1,
  config,
  section: { name: 'oauth', members: Object.keys(config.shape) },
  limits: LIMITS,
  errors: ERRORS,
  words,
  claims: [
    ...['/authorize', '/token', '/revoke', '/register', `${RESOURCE_METADATA}/*`],
    ...['/.well-known/oauth-authorization-server/*', '/.well-known/openid-configuration/*'],
    ...['/api/oauth/*', '/api/admin/oauth/*'],
  ],
  leftBehind: {
    oauthClients: { what: 'OAuth clients', instead: 'Clients use an access key, which the import carries.' },
    oauthTokens: { what: 'OAuth tokens', instead: 'Sign in again, or use an access key.' },
  },
  points: { externalAccounts: { main: true } },
  migrations: { '0001-first': first },
  async setup(context) {
    const { sealing, people } = context
    const limits = context.limits as typeof LIMITS
    // `Fail` allows the plugin's own codes alone, and those it shares with other plugins have no data either.
    const fail: Fail = (code, message, options) => context.error(code as never, message, options)
    const tables = context.tables<OAuthTables>()
    const sealed = new SealedClients(sealing)
    const fetchFor = (userId: string) => context.fetchFor(userId, 'user')
    const documents = new ClientDocuments(context.config, fetchFor, fail)
    const clients = new Clients({ tables, sealed, documents, config: context.config, fail })
    const ended = new EndedGrants()
    const grants = new Grants({
      ...{ tables, sealing, mostOfUser: limits.grantsPerUser },
      isBlocked: id => clients.isBlocked(id),
      async epochOf(userId) {
        const person = await people.byId(userId)
        return person && !person.disabled ? person.epoch : undefined
      },
      ended({ id, user_id, client_name }, why) {
        ended.add(id)
        context.audit({ kind: 'system', purpose: 'oauth-server' }, why, client_name, user_id)
      },
    })
    const tokens = new AccessTokens(sealing)
    const requests = new SealedRequests(sealing, fail)
    const proof = new ClientProof({ clients, sealed, documents, fetchFor })

    addMetadata(context, context.config)
    context.contribute('builtPage', 'apps', { access: 'user' })
    addGrantRoutes(context, grants, fail)
    addAdminRoutes(context, { tables, grants, config: context.config, fail, most: limits.listedClients })
    if (context.config.issuers.length > 0) {
      addElsewhere(context)
      context.contribute('tokenVerifier', 'oauth-server', externalTokens(context, fail))
      context.contribute('teamSource', 'oauth-server', {
        sets(provider) {
          const [accounts] = context.contributions('externalAccounts').values()
          const named = context.config.issuers.filter(({ claims }) => claims.teams !== undefined)
          return accounts !== undefined && named.some(({ issuer }) => accounts.providerOf(issuer) === provider)
        },
      })
    } else {
      addAuthorize(context, requests, fail)
      addRegistration(context, context.config, sealed)
      addToken(context, { grants, tokens, proof, tables })
      addConsent(context, { requests, clients, grants, fail })
      context.contribute('tokenVerifier', 'oauth-server', tokenVerifier(tokens, grants, ended))
    }
    context.contribute('challenge', 'oauth-server', {
      parameters({ status, path, baseUrl, message }) {
        if (!isSafe(baseUrl, context.isLocal())) return {}
        return {
          scope: 'mcp:tools',
          ...(status === 403 ? { error_description: message } : {}),
          resource_metadata: `${baseUrl}${RESOURCE_METADATA}${path}`,
        }
      },
    })
    context.events.on('server.removed', ({ data }) => {
      if (!data.transferred) ended.add(data.serverId)
    })
    context.events.on('group.removed', ({ data }) => {
      if (!data.transferred) ended.add(data.groupId)
    })
    context.jobs.every(SWEEP_MS, () => grants.sweep())
    const issuers = new Set(context.config.issuers.map(({ issuer }) => issuer))
    await context.signIns.endTeams(provider => provider.includes('://') && !issuers.has(provider))
    return undefined
  },
})
