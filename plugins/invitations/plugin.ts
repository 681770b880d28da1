import { definePlugin } from 'patchbay/contract'
import type {} from 'patchbay/features'
import { ERRORS, LIMITS } from './errors.ts'
import { Invitations } from './invitations.ts'
import { addRoutes } from './routes.ts'
import { first } from './tables.ts'
import type {} from './types.ts'
import { words } from './words.zh.ts'

const SWEEP_MS = 3_600_000

/** Links with which owners share servers and groups. */
export default definePlugin({
  name: 'invitations',
  contract: 1,
  claims: ['/api/invitations/*'],
  limits: LIMITS,
  errors: ERRORS,
  words,
  migrations: { '0001-invitations': first },
  setup(context) {
    const invitations = new Invitations(context)
    context.contribute('builtPage', 'invitations', { access: 'user' })
    addRoutes(context, invitations)
    context.jobs.every(SWEEP_MS, () => invitations.sweep())
    return undefined
  },
})
