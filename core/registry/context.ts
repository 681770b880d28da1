import type { JsonObject } from '../contract/json.ts'
import type { GroupRecord, ServerRecord } from '../contract/records.ts'
import type { DocumentCheck, DocumentText } from '../domain/server/documents.ts'
import type { SandboxLevel, SpawnPolicyInput } from '../domain/server/spawn-policy.ts'
import type { Transports } from '../domain/server/transports.ts'
import type { EventBus } from '../events/bus.ts'
import type { Sealer } from '../secrets/seal.ts'
import type { Store } from '../store/open.ts'
import type { OpenAttached } from './attached.ts'
import type { RecordKinds } from './record-kinds.ts'
import type { ShareMap } from './share-map.ts'

/** Writes an edit of one entry back to the settings file. `owner` as in the file; undefined for plain entries. */
export interface FileWriter {
  writeServer(owner: string | undefined, name: string, body: JsonObject | null): Promise<void>
  writeGroup(owner: string | undefined, name: string, body: JsonObject | null): Promise<void>
  /** Renames a member in a group's entry; the owner, if written, and all other fields stay. */
  renameMember(
    group: { readonly owner: string | undefined; readonly name: string },
    member: { readonly owner: string; readonly name: string },
    newName: string,
  ): Promise<void>
}

/** Dependencies that all parts of the registry share. */
export interface RegistryDeps {
  readonly store: Store
  readonly bus: EventBus
  readonly sealer: Sealer
  /** All shares and members of teams, in memory. */
  readonly shares: ShareMap
  /** Settings of plugins beside things. */
  readonly attached: OpenAttached
  /** Kinds of records that users own beside servers, groups and keys. */
  readonly kinds: RecordKinds
  /** The policy for commands and the sandbox level of this machine; read at each save. */
  readonly stdio: () => { readonly policy: SpawnPolicyInput['policy']; readonly level: SandboxLevel }
  /** True when a path inside the sandbox resolves to outside the server's present work folder. */
  readonly leavesWorkFolder?: (ownerId: string, serverId: string, path: string) => boolean
  /** Networks (CIDR) that every user's servers may reach. */
  readonly outboundAllow: readonly string[]
  /** Ports (`"3000"`) or `host:port` on which this hub itself listens. Servers with such an address are rejected. */
  readonly ownPorts?: () => readonly string[]
  /** The transports of running plugins, by which the fields of servers are read. */
  readonly transports: Transports
  /** Without it, entries of the settings file cannot be changed: `settings_read_only`. */
  readonly fileWriter?: FileWriter
  /**
   * Checks an inline OpenAPI document that is a text, in a thread; its senders take turns there. Without it, YAML is parsed for
   * the first time when its server starts.
   */
  readonly checkDocument?: (document: DocumentText, sender: string) => Promise<DocumentCheck>
  /** Throws for a group whose selector chooses among servers that are not alike, as far as their lists are known. */
  readonly checkGroup?: (group: GroupRecord, servers: readonly ServerRecord[]) => void
  readonly now?: () => Date
}

/** ISO 8601 UTC with milliseconds: fixed width, so it sorts as text. */
export function timestamp(deps: Pick<RegistryDeps, 'now'>): string {
  return (deps.now?.() ?? new Date()).toISOString()
}
