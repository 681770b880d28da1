import type { JsonObject } from '../contract/json.ts'
import type { SandboxLevel, SpawnPolicyInput } from '../domain/server/spawn-policy.ts'
import type { EventBus } from '../events/bus.ts'
import type { Sealer } from '../secrets/seal.ts'
import type { Store } from '../store/open.ts'

/** Writes an edit of one entry back to the settings file. `owner` as the file names it; undefined for plain entries. */
export interface FileWriter {
  writeServer(owner: string | undefined, name: string, body: JsonObject | null): Promise<void>
  writeGroup(owner: string | undefined, name: string, body: JsonObject | null): Promise<void>
  /** A group's entry names one of its members by `newName`; the owner, where it is written, and all else stays. */
  renameMember(
    group: { readonly owner: string | undefined; readonly name: string },
    member: { readonly owner: string; readonly name: string },
    newName: string,
  ): Promise<void>
}

export interface RegistryDeps {
  readonly store: Store
  readonly bus: EventBus
  readonly sealer: Sealer
  /** What may be run and what this machine can enforce; asked at each save. */
  readonly stdio: () => { readonly policy: SpawnPolicyInput['policy']; readonly level: SandboxLevel }
  /** Whether a path inside the sandbox leads out of the work folder that the server has by now. */
  readonly leavesWorkFolder?: (ownerId: string, serverId: string, path: string) => boolean
  /** Networks (CIDR) that everybody's servers may reach. */
  readonly outboundAllow: readonly string[]
  /** Ports (`"3000"`) or `host:port` at which this hub itself listens. A server that names one is refused. */
  readonly ownPorts?: () => readonly string[]
  /** Without it, entries of the settings file cannot be changed here: `settings_read_only`. */
  readonly fileWriter?: FileWriter
  readonly now?: () => Date
}

/** ISO 8601 UTC with milliseconds: text of fixed width, so that it sorts. */
export function timestamp(deps: Pick<RegistryDeps, 'now'>): string {
  return (deps.now?.() ?? new Date()).toISOString()
}
