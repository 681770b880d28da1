import type { Auth } from '../../auth/create.ts'
import { HubError } from '../../contract/errors.ts'
import type { PluginSignIns } from '../../contract/sign-ins.ts'
import { openSession } from '../../http/routes/people/session.ts'
import { requirePassword } from '../../http/routes/people/sign-in-attempt.ts'
import type { Registry, UserRecord } from '../../registry/api.ts'

/** The parts of the hub with which a plugin signs users in. */
export interface SignInParts {
  readonly registry: Pick<Registry, 'users' | 'audit'>
  readonly auth: Auth
}

/** Sign-ins on behalf of one bundled plugin. Throws Error for another one. */
export function pluginSignIns({ registry, auth }: SignInParts, plugin: string, isBundled: boolean): PluginSignIns {
  if (!isBundled) throw new Error('"signIns" is open to bundled plugins alone')
  const enabled = async (userId: string): Promise<UserRecord> => {
    const user = await registry.users.byId(userId)
    if (user && !user.disabled) return user
    throw new HubError('user_not_found', 'There is no such user, or it is disabled')
  }
  return {
    async open(userId, how, { clientAddress, requestId, headers }) {
      const user = await enabled(userId)
      const client = { clientAddress, userAgent: headers['user-agent'] ?? null }
      const { actor, body } = await openSession(auth, user, client)
      const request = { requestId, clientAddress }
      const record = { action: 'auth.login', target: user.name, ownerId: user.id, request }
      registry.audit.record(actor, { ...record, detail: { plugin, how } })
      return body
    },
    async checkPassword(actor, password, { clientAddress, requestId }) {
      await requirePassword({ registry, auth }, actor, password, { clientAddress, requestId })
    },
    async setSecondFactor(userId, on, endSignIns) {
      await registry.users.setSecondFactor(userId, { plugin, on, endSignIns })
    },
    ask: async (userId, purpose) => auth.secondFactors.ask(await enabled(userId), purpose),
    proved: actor => new Date(auth.proofs.note(actor)).toISOString(),
    requireProof: actor => auth.proofs.require(actor),
  }
}
