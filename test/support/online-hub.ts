import type { Client } from './client.ts'
import { type Hub, type HubOptions, startHub } from './hub.ts'
import { online } from './servers.ts'

export interface OnlineHubOptions extends HubOptions {
  readonly settings: { readonly mcpServers: Readonly<Record<string, object>>; readonly groups?: readonly object[] }
}

/** A hub with an administrator and all servers online. If that fails, the hub is stopped again. */
export async function startOnline(options: OnlineHubOptions): Promise<{ readonly hub: Hub; readonly admin: Client }> {
  const hub = await startHub(options)
  try {
    const admin = await hub.setup()
    await online(admin, Object.keys(options.settings.mcpServers), 60_000)
    return { hub, admin }
  } catch (error) {
    await hub.stop()
    throw error
  }
}
