import { definePlugin, type Person } from 'patchbay/contract'
import { addAdminRoutes } from './admin-routes.ts'
import { config, type SignInConfig } from './config.ts'
import { ERRORS, type Fail } from './errors.ts'
import { addFactorRoutes } from './factor-routes.ts'
import { Factors } from './factors.ts'
import { Proofs } from './proofs.ts'
import { addSignIn } from './sign-in-routes.ts'
import { first, type SignInTables } from './tables.ts'
import { Tickets } from './tickets.ts'
import { Tries } from './tries.ts'
import { words } from './words.zh.ts'

const NAME = 'sign-in'
const SWEEP_MS = 600_000
const LIMITS = { factorsPerUser: 10 }

/** Second factors of sign-ins to the hub. */
export default definePlugin<SignInConfig>({
  name: NAME,
  contract: 1,
  config,
  limits: LIMITS,
  errors: ERRORS,
  words,
  claims: ['/api/auth/*', '/api/admin/users/*'],
  migrations: { '0001-first': first },
  setup(context) {
    const limits = context.limits as typeof LIMITS
    const fail: Fail = (code, message) => context.error(code as never, message)
    const tables = context.tables<SignInTables>()
    const factors = new Factors(tables, context.sealing, fail, limits.factorsPerUser)
    const tickets = new Tickets(context.sealing, tables, fail)
    const tries = new Tries()
    const failed = ({ id, name }: Person): void =>
      context.audit({ kind: 'system', purpose: NAME }, 'second_factor_failed', name, id)
    const proofs = new Proofs({ config: context.config, tables, factors, tickets, tries, fail, failed })

    addSignIn(context, { proofs, tickets, fail })
    addFactorRoutes(context, { tables, factors, tries, fail, isRequired: role => proofs.isRequired(role) })
    addAdminRoutes(context, factors)

    context.contribute('secondFactor', NAME, proofs)
    context.contribute('builtPage', 'factors', { access: 'user' })
    context.jobs.every(SWEEP_MS, () => tickets.sweep())
    return undefined
  },
})
