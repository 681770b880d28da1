import type { PluginContext } from 'patchbay/contract'
import type { Credential, CredentialStore } from '../credentials/store.ts'
import { covers } from '../discovery/discovery.ts'
import { serverUrl } from '../server-config.ts'

/**
 * Ends sign-ins whose server or user is deleted, whose server has another address, and those of a former owner for all users. Nothing
 * waits for it.
 */
export function followServers(context: PluginContext<unknown>, store: CredentialStore): void {
  const { events, log } = context
  const apart = (work: Promise<void>): void => {
    work.catch((error: unknown) => log.warn('Sign-ins that have ended cannot be read', { error: String(error) }))
  }
  events.on('server.removed', ({ data }) => apart(store.held.find({ server_id: data.serverId })))
  events.on('user.removed', ({ data }) => apart(store.held.find({ holder: data.userId })))
  events.on('server.updated', ({ data }) => apart(changed(context, store, data)))
}

async function changed(
  { states }: PluginContext<unknown>,
  store: CredentialStore,
  { serverId, changed: fields }: { readonly serverId: string; readonly changed: readonly string[] },
): Promise<void> {
  if (!fields.includes('owner') && !fields.includes('url')) return
  const credentials = await store.at(serverId)
  if (credentials.length === 0) return
  const server = await states.target(serverId).catch(() => undefined)
  if (!server) return
  const url = serverUrl(server.config)
  const isForAll = server.config.credentials === 'owner'
  const ends = async (credential: Credential, end: Promise<void>): Promise<void> => {
    await end
    states.credentialChanged(serverId, credential.user_id, 'lost')
  }
  for (const credential of credentials) {
    const { kept, resource, state, user_id: userId } = credential
    // Values that a user entered are not the server's: they stay for another server at their place.
    if (kept.values) continue
    if (fields.includes('owner') && isForAll && userId !== server.ownerId)
      await ends(credential, store.remove(credential))
    else if (url && state === 'active' && !covers(resource, url)) await ends(credential, store.left(credential))
  }
}
