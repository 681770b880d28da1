import { HubError, type PluginContext } from 'patchbay/contract'
import type { Person } from 'patchbay/features'
import { z } from 'zod'
import type { SignInConfig } from '../config.ts'
import type { Fail } from '../errors.ts'
import { asked, SESSION, session } from '../sign-in-routes.ts'
import type { Turns } from '../turns.ts'
import { accountKey, type Identities } from './identities.ts'
import type { Account } from './provider.ts'
import type { TeamsBySignIn } from './teams.ts'

/** The issuer, and the provider, of accounts that a proxy names; no issuer has this address. */
export const FORWARDED = 'proxy'
const NOTED_EVERY_MS = 60_000
const MOST_NAME = 256

/** The parts of a request that say who a proxy has signed in. */
interface Forwarding {
  readonly headers: Readonly<Record<string, string>>
  readonly viaProxy: boolean
}

/** Parts of sign-ins by a proxy before the hub. */
export interface ForwardedDeps {
  readonly settings: SignInConfig['forwarded']
  readonly identities: Identities
  readonly turns: Turns
  readonly teams: TeamsBySignIn
  readonly fail: Fail
}

/** The account that a trusted proxy names; undefined for requests of others, whatever headers they send. */
export function forwardedAccount(settings: SignInConfig['forwarded'], request: Forwarding): Account | undefined {
  if (!settings || !request.viaProxy) return undefined
  const subject = request.headers[settings.user.toLowerCase()]?.trim()
  if (subject === undefined || subject === '' || subject.length > MOST_NAME) return undefined
  const email = settings.email === undefined ? undefined : request.headers[settings.email.toLowerCase()]?.trim()
  const account = { issuer: FORWARDED, subject, name: subject, email: email ? email.slice(0, MOST_NAME) : undefined }
  if (settings.groups === undefined) return account
  const text = request.headers[settings.groups.toLowerCase()]
  const value = text?.split(settings.separator).map(part => part.trim())
  return {
    ...account,
    groups: { name: settings.groups, value: value?.filter(part => part !== ''), isElsewhere: false },
  }
}

/** Adds the route by which somebody signs in whom a proxy has signed in already. */
export function addForwarded(context: PluginContext<unknown>, deps: ForwardedDeps): void {
  const { routes, people, signIns, log } = context
  const { settings, identities, turns, teams, fail } = deps
  let notedAtMs = Number.NEGATIVE_INFINITY

  const noteStranger = ({ headers, viaProxy }: Forwarding, clientAddress: string): void => {
    const now = performance.now()
    if (viaProxy || !settings || headers[settings.user.toLowerCase()] === undefined) return
    if (now - notedAtMs < NOTED_EVERY_MS) return
    notedAtMs = now
    log.warn('A client that is no trusted proxy named a user in a header, which is ignored', { client: clientAddress })
  }

  /** The user of an account, by an earlier sign-in or by the name. Throws `identity_unknown`. */
  const userOf = async (account: Account): Promise<Person> => {
    const known = await identities.find(account)
    if (known) await identities.used(known, account)
    const user = known ? await people.byId(known.user_id) : await named(account.subject)
    if (user) return user
    if (known || settings?.provision !== 'create')
      throw fail('identity_unknown', `There is no user "${account.subject}", whom the proxy has signed in`)
    const made = await signIns.create(account.name, ({ id }) => identities.link(id, FORWARDED, account))
    context.audit({ kind: 'system', purpose: 'sign-in' }, 'identity_linked', `${made.name} (${FORWARDED})`, made.id)
    return made
  }

  const named = async (name: string): Promise<Person | undefined> => {
    // No name: a user by number, such as the first one before the set-up.
    if (name.startsWith('#')) return undefined
    return people.byName({ kind: 'system', purpose: 'sign-in' }, name).catch((error: unknown) => {
      if (error instanceof HubError && error.code === 'user_not_found') return undefined
      throw error
    })
  }

  routes.add({
    ...{ method: 'POST', path: '/api/auth/forwarded', whole: true, access: 'public', tag: 'sign-in' },
    summary: 'Sign in as the user whom a trusted proxy names',
    answers: {
      200: {
        description: 'Signed in, or what a user with a second factor must still prove',
        schema: z.union([session, asked]),
        example: SESSION,
      },
      403: { description: 'identity_unknown, also where no trusted proxy names a user' },
    },
    async handle(request) {
      noteStranger(request, request.clientAddress)
      const account = forwardedAccount(settings, request)
      if (!account) throw fail('identity_unknown', 'No trusted proxy has said who you are')
      // One after the other: of two at once, only the first one may make a user.
      const user = await turns.take(accountKey(account), () => userOf(account))
      if (user.disabled) throw fail('identity_unknown', 'This user is disabled')
      if (user.role === 'admin' && settings?.administrators !== true)
        throw fail('identity_unknown', 'Administrators sign in at the hub, and not by the proxy')
      await teams.set(user.id, FORWARDED, account.groups)
      const secondFactor = await signIns.ask(user.id, 'sign-in')
      return { body: secondFactor ? { secondFactor } : await signIns.open(user.id, FORWARDED, request) }
    },
  })
}
