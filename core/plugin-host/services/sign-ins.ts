import { randomBytes } from 'node:crypto'
import type { Auth } from '../../auth/create.ts'
import { personOf } from '../../auth/second-factors.ts'
import { HubError } from '../../contract/errors.ts'
import { checkName, isNameProblem } from '../../domain/names.ts'
import type { Person } from '../../features/services/hub-services.ts'
import type { PluginSignIns } from '../../features/sign-ins.ts'
import { openSession } from '../../http/routes/people/session.ts'
import { requirePassword } from '../../http/routes/people/sign-in-attempt.ts'
import type { Registry, UserRecord } from '../../registry/api.ts'

/** The parts of the hub with which a plugin signs users in. */
export interface SignInParts {
  readonly registry: Pick<Registry, 'users' | 'teams' | 'audit'>
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
    async create(name, complete) {
      const made = personOf(await createLike(registry, plugin, name))
      try {
        await complete(made)
      } catch (error) {
        await removeMade(registry, plugin, made)
        throw error
      }
      return made
    },
    async hasPassword(userId) {
      const user = await registry.users.byId(userId)
      const found = user && (await registry.users.credentials(user.name))
      return typeof found?.passwordHash === 'string'
    },
    async checkPassword(actor, password, { clientAddress, requestId }) {
      auth.secondFactors.requirePassword(await enabled(actor.userId))
      await requirePassword({ registry, auth }, actor, password, { clientAddress, requestId })
    },
    async setSecondFactor(userId, on, endSignIns) {
      await registry.users.setSecondFactor(userId, { plugin, on, endSignIns })
    },
    async setTeams(userId, provider, groups) {
      const { joined, left, full } = await registry.teams.setOf(userId, provider, groups)
      if (joined.length + left.length > 0) {
        const target = (await registry.users.byId(userId))?.name ?? ''
        const detail = { provider, joined: [...joined], left: [...left] }
        registry.audit.record(
          { kind: 'system', purpose: plugin },
          { action: 'user.teams', target, ownerId: userId, detail },
        )
      }
      return { full }
    },
    async endTeams(isOver) {
      for (const target of await registry.teams.endSources(isOver))
        registry.audit.record({ kind: 'system', purpose: plugin }, { action: 'team.end', target, ownerId: null })
    },
    ask: async (userId, purpose) => auth.secondFactors.ask(await enabled(userId), purpose),
    proved: actor => new Date(auth.proofs.note(actor)).toISOString(),
    requireProof: actor => auth.proofs.require(actor),
    requireProofOfSession: actor => auth.proofs.requireOfSession(actor),
  }
}

/** Removes a new user without any way to sign in. */
async function removeMade(
  { users, audit }: SignInParts['registry'],
  plugin: string,
  { id, name, role }: Person,
): Promise<void> {
  const actor = { kind: 'system', purpose: plugin } as const
  await users.remove(actor, name, {})
  audit.record(actor, { action: 'user.delete', target: name, ownerId: id, detail: { role } })
}

/** Number of names that are tried; those after the first nine end at random, so that nobody can take all of them. */
const TRIES = 20
const NUMBERED = 9

/** A new user, with something at the end of the name where it is taken. */
async function createLike(
  { users, audit }: SignInParts['registry'],
  plugin: string,
  wanted: string,
): Promise<UserRecord> {
  if (await users.needsSetup()) throw new HubError('starting', 'The hub has no administrator yet')
  const actor = { kind: 'system', purpose: plugin } as const
  const cleaned = wanted.slice(0, 48).replace(/[^\p{L}\p{Nd}_.-]+/gu, '-')
  const name = isNameProblem(checkName('user', cleaned)) ? 'user' : cleaned
  for (let number = 1; ; number += 1) {
    try {
      const like = number === 1 ? name : `${name}-${number > NUMBERED ? randomBytes(4).toString('hex') : number}`
      const made = await users.create(actor, { name: like, passwordHash: null, role: 'user' })
      audit.record(actor, { action: 'user.create', target: made.name, ownerId: made.id, detail: { role: made.role } })
      return made
    } catch (error) {
      if (!(error instanceof HubError) || error.code !== 'username_taken' || number >= TRIES) throw error
    }
  }
}
