import type { PluginContext } from 'patchbay/contract'
import type { CredentialTarget } from 'patchbay/features'
import type { Credential, CredentialStore } from '../credentials/store.ts'
import { covers } from '../discovery/discovery.ts'
import { serverUrl } from '../server-config.ts'

/**
 * Ends sign-ins whose server or user is deleted, whose server has another address or is no longer shared with the user, and those of a
 * former owner for all users. Nothing waits for it.
 */
export function followServers(context: PluginContext<unknown>, store: CredentialStore): void {
  const { events, log } = context
  const ends = new EndedSignIns(context, store)
  const apart = (work: Promise<void>): void => {
    work.catch((error: unknown) => log.warn('Sign-ins that have ended cannot be read', { error: String(error) }))
  }
  events.on('server.removed', ({ data }) => apart(store.held.find({ server_id: data.serverId })))
  events.on('user.removed', ({ data }) => apart(store.held.find({ holder: data.userId })))
  events.on('server.updated', ({ data }) => apart(ends.ofServer(data.serverId, data.changed)))
  events.on('share.changed', ({ data, ownerId }) => {
    if (data.role === null && ownerId !== null) apart(ends.ofUser(ownerId))
  })
}

/** The sign-ins of one server, or of one user, after a change. */
class EndedSignIns {
  readonly #context: PluginContext<unknown>
  readonly #store: CredentialStore

  constructor(context: PluginContext<unknown>, store: CredentialStore) {
    this.#context = context
    this.#store = store
  }

  async ofServer(serverId: string, fields: readonly string[]): Promise<void> {
    if (!['owner', 'url', 'visibility'].some(field => fields.includes(field))) return
    const credentials = (await this.#store.at(serverId)).filter(isSignIn)
    if (credentials.length === 0) return
    const server = await this.#context.states.target(serverId).catch(() => undefined)
    if (!server) return
    const url = serverUrl(server.config)
    const isForAll = server.config.credentials === 'owner'
    for (const credential of credentials) {
      const { resource, state, user_id: userId } = credential
      const isFormer = fields.includes('owner') && isForAll && userId !== server.ownerId
      if (isFormer) await this.#end(credential, () => this.#store.remove(credential))
      else if (url && state === 'active' && !covers(resource, url))
        await this.#end(credential, () => this.#store.left(credential))
    }
    if (fields.includes('visibility')) await this.#endForeign(server, credentials)
  }

  /** Something is no longer shared with the user. */
  async ofUser(userId: string): Promise<void> {
    for (const credential of (await this.#store.of(userId)).filter(isSignIn)) {
      const server = await this.#context.states.target(credential.server_id).catch(() => undefined)
      if (server) await this.#endForeign(server, [credential])
    }
  }

  async #endForeign({ id, ownerId }: CredentialTarget, credentials: readonly Credential[]): Promise<void> {
    const { people, registry } = this.#context
    const owner = await people.actor(ownerId)
    // The things of a disabled owner are nobody's for that time alone.
    const record = owner && (await registry.server(owner, id))
    if (!record) return
    const mayUse = await registry.reachOf(record)
    for (const credential of credentials)
      if (!mayUse(credential.user_id)) await this.#end(credential, () => this.#store.remove(credential))
  }

  async #end({ server_id: serverId, user_id: userId }: Credential, end: () => Promise<void>): Promise<void> {
    await end()
    this.#context.states.credentialChanged(serverId, userId, 'lost')
  }
}

/** Values that a user entered stay: nobody is told of their end. */
function isSignIn({ kept }: Credential): boolean {
  return kept.values === undefined
}
