import type { PluginContext, UserActor } from 'patchbay/contract'
import type { SignInRequest } from 'patchbay/features'
import { z } from 'zod'
import type { SignInConfig } from '../config.ts'
import type { Fail } from '../errors.ts'
import { placeOf } from '../passkeys/place.ts'
import { asked, SESSION, session } from '../sign-in-routes.ts'
import type { Turns } from '../turns.ts'
import { type Flows, ownPath } from './flows.ts'
import { forwardedAccount } from './forwarded.ts'
import { accountKey, type Identities } from './identities.ts'
import type { Account, Provider } from './provider.ts'
import type { TeamsBySignIn } from './teams.ts'

/** Parts of sign-ins by providers. */
export interface ProviderDeps {
  readonly providers: ReadonlyMap<string, Provider>
  readonly flows: Flows
  readonly identities: Identities
  readonly turns: Turns
  readonly teams: TeamsBySignIn
  readonly fail: Fail
  readonly passwords: SignInConfig['passwords']
  readonly forwarded: SignInConfig['forwarded']
}

const CALLBACK = '/signin/callback'
const id = z.object({ id: z.string().min(1).max(32) })
const item = z.object({ id: z.string(), kind: z.enum(['oidc', 'github']), label: z.string(), linkable: z.boolean() })
const finished = z.object({ returnTo: z.string().optional(), linked: z.boolean().optional() })

/** Adds the routes of sign-ins at providers. */
export function addProviders(context: PluginContext<unknown>, deps: ProviderDeps): void {
  addStart(context, deps)
  addFinish(context, deps)
}

function addStart(context: PluginContext<unknown>, deps: ProviderDeps): void {
  const { routes, signIns } = context
  const { providers, flows, fail, passwords } = deps
  const common = { whole: true, access: 'public', tag: 'sign-in' } as const
  routes.add({
    ...common,
    ...{ method: 'GET', path: '/api/auth/providers' },
    summary: 'The ways to sign in here: providers, passkeys, passwords',
    answers: {
      200: {
        description:
          'Providers, `linkable` where users link accounts by themselves; `passkeys`: true where browsers take them; `forwarded`: whom a trusted proxy has signed in (`POST /api/auth/forwarded`)',
        schema: z.object({
          ...{ items: z.array(item), passkeys: z.boolean(), passwords: z.enum(['on', 'admins', 'off']) },
          forwarded: z.string().optional(),
        }),
        example: {
          items: [{ id: 'company', kind: 'oidc', label: 'Company', linkable: true }],
          ...{ passkeys: true, passwords: 'on' },
        },
      },
    },
    handle: request => ({
      body: {
        ...{ passkeys: placeOf(request.baseUrl) !== undefined, passwords },
        ...forwardedName(deps.forwarded, request),
        items: [...providers.values()].map(({ config }) => ({
          ...{ id: config.id, kind: config.kind, label: config.label, linkable: config.provision !== 'off' },
        })),
      },
    }),
  })

  routes.add({
    ...common,
    ...{ method: 'POST', path: '/api/auth/providers/{id}/start', params: id },
    summary: 'Begin to sign in at a provider, or to link an account there with one’s own',
    body: z.strictObject({
      keyHash: z
        .string()
        .regex(/^[A-Za-z0-9_-]{43}$/)
        .meta({ description: 'SHA-256, base64url, of 256 random bits that this browser keeps until the end' }),
      returnTo: z.string().max(512).optional(),
      link: z.boolean().optional(),
    }),
    answers: {
      200: {
        description: 'The address to go to; it leads back to `/signin/callback`',
        schema: z.object({ url: z.string() }),
        example: { url: 'https://login.example/authorize?response_type=code&…' },
      },
      403: { description: 'reauth_required, insufficient_scope: linking an account' },
      404: { description: 'provider_not_found' },
      502: { description: 'provider_unreachable' },
    },
    async handle({ params, body, actor, baseUrl }) {
      const provider = found(providers, params.id, fail)
      if (body.link) requireLinking(provider, actor, fail)
      if (body.link && actor) signIns.requireProof(actor)
      const returnTo = ownPath(body.returnTo)
      const begun = flows.begin({
        ...{ provider: params.id, keyHash: body.keyHash, redirectUri: `${baseUrl}${CALLBACK}` },
        ...(body.link && actor ? { linking: actor.userId } : {}),
        ...(returnTo === undefined ? {} : { returnTo }),
      })
      return { body: { url: await provider.authorizeUrl(begun) } }
    },
  })
}

function forwardedName(
  settings: SignInConfig['forwarded'],
  request: Parameters<typeof forwardedAccount>[1],
): { readonly forwarded?: string } {
  const account = forwardedAccount(settings, request)
  return account ? { forwarded: account.subject } : {}
}

function requireLinking({ config }: Provider, actor: UserActor | undefined, fail: Fail): void {
  if (!actor) throw fail('sign_in_foreign', 'Only somebody who is signed in links an account')
  if (config.provision === 'off')
    throw fail('identity_unknown', `Users do not link accounts of the provider "${config.id}" here`)
}

function found(providers: ReadonlyMap<string, Provider>, wanted: string, fail: Fail): Provider {
  const provider = providers.get(wanted)
  if (!provider) throw fail('provider_not_found', `There is no provider "${wanted}"`)
  return provider
}

function addFinish(context: PluginContext<unknown>, deps: ProviderDeps): void {
  const { routes, people, signIns } = context
  const { providers, flows, identities, turns, teams, fail } = deps

  /** The user of an account that is linked. */
  const linkedUser = async (account: Account): Promise<string | undefined> => {
    const identity = await identities.find(account)
    if (!identity) return undefined
    await identities.used(identity, account)
    const user = await people.byId(identity.user_id)
    if (!user || user.disabled) throw fail('identity_unknown', 'The user who has linked this account is disabled')
    return user.id
  }

  /** The user of an account, who is made where the provider makes users. Throws `identity_unknown`. */
  const userOf = async ({ config: { id: name, provision } }: Provider, account: Account): Promise<string> => {
    const linked = await linkedUser(account)
    if (linked !== undefined) return linked
    if (provision !== 'create') throw fail('identity_unknown', `No user has linked this account of "${name}"`)
    const made = await signIns.create(account.name, ({ id: userId }) => identities.link(userId, name, account))
    context.audit({ kind: 'system', purpose: 'sign-in' }, 'identity_linked', `${made.name} (${name})`, made.id)
    return made.id
  }

  const link = async (provider: Provider, account: Account, actor: UserActor): Promise<void> => {
    await turns.take(accountKey(account), () => identities.link(actor.userId, provider.config.id, account))
    context.audit(actor, 'identity_linked', `${actor.name} (${provider.config.id})`, actor.userId)
    await teams.set(actor.userId, provider.config.id, account.groups)
  }

  const enter = async (provider: Provider, account: Account, request: SignInRequest): Promise<object> => {
    // One after the other: of two at once, only the first one may make a user.
    const userId = await turns.take(accountKey(account), () => userOf(provider, account))
    await teams.set(userId, provider.config.id, account.groups)
    const secondFactor = await signIns.ask(userId, 'sign-in')
    return secondFactor ? { secondFactor } : signIns.open(userId, provider.config.id, request)
  }

  routes.add({
    ...{ method: 'POST', path: '/api/auth/providers/{id}/finish', whole: true, access: 'public', tag: 'sign-in' },
    summary: 'End a sign-in at a provider, with the address to which it led back',
    params: id,
    body: z.strictObject({ url: z.string().min(1).max(8_192), key: z.string().min(1).max(128) }),
    answers: {
      200: {
        description: 'Signed in; what a user with a second factor must still prove; or the account is linked',
        schema: z.union([session.extend(finished.shape), asked.extend(finished.shape), finished]),
        example: { ...SESSION, returnTo: '/servers' },
      },
      400: { description: 'sign_in_foreign, provider_refused' },
      403: { description: 'identity_unknown' },
      404: { description: 'provider_not_found' },
      409: { description: 'identity_taken' },
      502: { description: 'provider_unreachable' },
    },
    async handle({ params, body, actor, ...request }) {
      const provider = found(providers, params.id, fail)
      const parameters = URL.parse(body.url)?.searchParams ?? new URLSearchParams()
      const flow = flows.open(parameters, params.id, body.key)
      if (flow.linking !== undefined && (actor?.userId !== flow.linking || actor.credential.kind !== 'session'))
        throw fail('sign_in_foreign', 'Another user began to link this account')
      const account = await provider.identify(parameters, flow)
      requireDomain(provider, account, fail)
      const returnTo = flow.returnTo === undefined ? {} : { returnTo: flow.returnTo }
      if (flow.linking === undefined || !actor)
        return { body: { ...(await enter(provider, account, request)), ...returnTo } }
      await link(provider, account, actor)
      return { body: { linked: true, ...returnTo } }
    },
  })
}

function requireDomain({ config: { id: name, domains } }: Provider, { email }: Account, fail: Fail): void {
  if (domains === undefined) return
  const domain = /@([^@]*)$/.exec(email ?? '')?.[1]?.toLowerCase()
  if (domain !== undefined && domains.includes(domain)) return
  throw fail('identity_unknown', `The account of "${name}" has no verified address at a domain that signs in here`)
}
