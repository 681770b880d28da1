import { definePlugin, type Person } from 'patchbay/contract'
import { addAdminRoutes } from './admin-routes.ts'
import { config, type SignInConfig } from './config.ts'
import { ERRORS, type Fail } from './errors.ts'
import { externalAccounts } from './external-accounts.ts'
import { addFactorRoutes } from './factor-routes.ts'
import { Factors } from './factors.ts'
import { Flows } from './flows.ts'
import { Identities } from './identities.ts'
import { addIdentities } from './identity-routes.ts'
import { Proofs } from './proofs.ts'
import { addProviders } from './provider-routes.ts'
import { openProviders } from './providers.ts'
import { addSignIn } from './sign-in-routes.ts'
import { first, identities as identitiesTable, type SignInTables } from './tables.ts'
import { Tickets } from './tickets.ts'
import { Tries } from './tries.ts'
import { Turns } from './turns.ts'
import { words } from './words.zh.ts'

const NAME = 'sign-in'
const SWEEP_MS = 600_000
const LIMITS = { factorsPerUser: 10 }

/** Ways to sign in to the hub: second factors, and accounts at providers. */
export default definePlugin<SignInConfig>({
  name: NAME,
  contract: 1,
  config,
  limits: LIMITS,
  errors: ERRORS,
  words,
  claims: ['/api/auth/*', '/api/admin/users/*'],
  migrations: { '0001-first': first, '0002-identities': identitiesTable },
  setup(context) {
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
    const proofs = new Proofs({ config: context.config, tables, factors, tickets, tries, fail, failed })

    addSignIn(context, { proofs, tickets, fail })
    addFactorRoutes(context, { tables, factors, tries, turns, fail, isRequired: role => proofs.isRequired(role) })
    addAdminRoutes(context, { factors, turns })
    const identities = new Identities(tables, fail)
    const providers = openProviders(context.config, context.fetch, fail)
    addProviders(context, { providers, flows: new Flows(context.sealing, fail), identities, turns, fail })
    addIdentities(context, { identities, providers })

    context.contribute('secondFactor', NAME, proofs)
    context.contribute('externalAccounts', NAME, externalAccounts(context, { identities, providers, turns }))
    context.contribute('builtPage', 'factors', { access: 'user' })
    context.jobs.every(SWEEP_MS, () => tickets.sweep())
    return undefined
  },
})
