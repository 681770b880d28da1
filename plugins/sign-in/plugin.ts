import { definePlugin } from 'patchbay/contract'
import type { Person } from 'patchbay/features'
import { addAdminRoutes } from './admin-routes.ts'
import { config, type SignInConfig } from './config.ts'
import { ERRORS, type Fail } from './errors.ts'
import { externalAccounts } from './external-accounts.ts'
import { addFactorRoutes } from './factor-routes.ts'
import { Factors } from './factors.ts'
import { Challenges } from './passkeys/challenges.ts'
import { PasskeyChecks } from './passkeys/checks.ts'
import { addPasskeys } from './passkeys/routes.ts'
import { Passkeys } from './passkeys/stored.ts'
import { Proofs } from './proofs.ts'
import { Flows } from './providers/flows.ts'
import { addForwarded, FORWARDED } from './providers/forwarded.ts'
import { Identities } from './providers/identities.ts'
import { addIdentities } from './providers/identity-routes.ts'
import { addProviders } from './providers/provider-routes.ts'
import { openProviders } from './providers/providers.ts'
import { TeamsBySignIn } from './providers/teams.ts'
import { addSignIn } from './sign-in-routes.ts'
import { first, identities as identitiesTable, passkeys as passkeysTable, type SignInTables } from './tables.ts'
import { Tickets } from './tickets.ts'
import { Tries } from './tries.ts'
import { Turns } from './turns.ts'
import { Ways } from './ways.ts'
import { words } from './words.zh.ts'

const NAME = 'sign-in'
const SWEEP_MS = 600_000
const LIMITS = { factorsPerUser: 10 }

/** Ways to sign in to the hub: second factors, and accounts at providers. */
export default definePlugin<SignInConfig>({
  name: NAME,
  contract: 1,
  config,
  section: { name: 'auth', members: Object.keys(config.shape) },
  limits: LIMITS,
  errors: ERRORS,
  words,
  claims: ['/api/auth/*', '/api/admin/users/*'],
  migrations: { '0001-first': first, '0002-identities': identitiesTable, '0003-passkeys': passkeysTable },
  async setup(context) {
    const limits = context.limits as typeof LIMITS
    // `Fail` allows the plugin's own codes alone, and those it shares with other plugins have no data either.
    const fail: Fail = (code, message, cause) => context.error(code as never, message, { cause })
    const tables = context.tables<SignInTables>()
    const factors = new Factors(tables, context.sealing, fail, limits.factorsPerUser)
    const tickets = new Tickets(context.sealing, tables, fail)
    const turns = new Turns()
    const tries = new Tries()
    const failed = ({ id, name }: Person): void =>
      context.audit({ kind: 'system', purpose: NAME }, 'second_factor_failed', name, id)
    const { config, sealing, people, signIns } = context
    const identities = new Identities(tables, fail)
    const providers = openProviders(config, context.fetch, fail)
    const issuers = new Set([...providers.values()].map(({ issuer }) => issuer))
    if (config.forwarded) issuers.add(FORWARDED)
    const teams = new TeamsBySignIn(context, turns, providers.values())
    const passkeys = new Passkeys(tables, fail)
    const challenges = new Challenges(sealing, fail)
    const checks = new PasskeyChecks({ passkeys, challenges, people, tries, fail, failed })
    const ways = new Ways({ config, people, signIns, identities, passkeys, issuers })
    const proofs = new Proofs({ config, tables, factors, tickets, ways, tries, fail, failed })

    addSignIn(context, { proofs, tickets, checks, fail })
    const isRequired = (role: Person['role']): boolean => proofs.isRequired(role)
    addFactorRoutes(context, { tables, factors, tries, turns, ways, fail, isRequired })
    addPasskeys(context, { tables, factors, passkeys, checks, proofs, tickets, turns, fail })
    addAdminRoutes(context, { factors, turns })
    const { passwords, forwarded } = config
    addProviders(context, {
      providers,
      flows: new Flows(sealing, fail),
      identities,
      turns,
      teams,
      fail,
      passwords,
      forwarded,
    })
    addForwarded(context, { settings: forwarded, identities, turns, teams, fail })
    addIdentities(context, { identities, turns, teams, ways })

    context.contribute('secondFactor', NAME, proofs)
    context.contribute('teamSource', NAME, {
      sets(provider) {
        if (provider === FORWARDED) return forwarded?.groups !== undefined
        return config.providers.some(({ id, claims }) => id === provider && claims?.groups !== undefined)
      },
    })
    context.contribute('externalAccounts', NAME, externalAccounts(context, { identities, teams, turns }))
    context.contribute('builtPage', 'factors', { access: 'user' })
    context.jobs.every(SWEEP_MS, () => tickets.sweep())
    await teams.endOthers(forwarded?.groups === undefined ? undefined : FORWARDED)
    return undefined
  },
})
