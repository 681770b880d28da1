import type { Client } from './client.ts'
import { fixture } from './fixtures.ts'
import type { Hub } from './hub.ts'
import { type OnlineHubOptions, startOnline } from './online-hub.ts'
import { startProgram } from './program.ts'

/** A running reference server of the one or the other era. */
export interface Reference {
  /** Its entry in a settings file. */
  readonly entry: { readonly type: 'streamable-http'; readonly url: string }
  /** Makes it send an update notification of a resource; returns the number of notified subscribers. */
  update(uri: string): Promise<number>
  stop(): Promise<void>
}

export async function startReference(era: 'legacy' | 'modern'): Promise<Reference> {
  const program = await startProgram(fixture('reference'), { env: { ERA: era } })
  return {
    entry: { type: 'streamable-http', url: program.url },
    async update(uri) {
      const control = new URL(`/control/updated?uri=${encodeURIComponent(uri)}`, program.url)
      return (await (await fetch(control, { method: 'POST' })).json()).told
    },
    stop: () => program.stop(),
  }
}

export interface BesideReference {
  readonly reference: Reference
  readonly hub: Hub
  readonly admin: Client
  stop(): Promise<void>
}

/** The reference server, and a hub that has it as `entry`, with an administrator; all its servers are online. */
export async function besideReference(
  era: 'legacy' | 'modern',
  optionsOf: (entry: Reference['entry']) => OnlineHubOptions,
): Promise<BesideReference> {
  await using started = new AsyncDisposableStack()
  const reference = await startReference(era)
  started.defer(() => reference.stop())
  const { hub, admin } = await startOnline(optionsOf(reference.entry))
  started.defer(async () => void (await hub.stop()))
  const all = started.move()
  return { reference, hub, admin, stop: () => all.disposeAsync() }
}
