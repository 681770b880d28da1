import type { Auth } from '../auth/create.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { HubConfig } from '../config/schema.ts'
import type { StartError } from '../config/start-error.ts'
import type { AroundProbe } from '../connections/sandbox/probe.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { EventBus } from '../events/bus.ts'
import type { Registry } from '../registry/api.ts'
import type { Redactor } from '../secrets/redact.ts'
import type { ServerRedactors } from '../secrets/server-redactors.ts'

/** Options that a process passes to its hub. */
export interface HubOptions {
  readonly loaded: LoadedConfig
  /** Reads or creates the token for `POST /api/setup`; called when there is no administrator. */
  readonly setupToken: () => Promise<string>
  /** Receives the keys that the hub generates, for the log and the crash report. */
  readonly redactor: Redactor
  /** Holds the secrets of each server while the server is in use. */
  readonly servers: ServerRedactors
  /** The part of the hub's environment that child processes get. */
  readonly baseEnv: { readonly PATH: string; readonly HOME: string; readonly LANG: string }
  /** Default: the hub probes the sandbox of its machine at every start. */
  readonly aroundProbe?: AroundProbe | undefined
}

/** One whole hub, built by {@link startHub}; `stop` releases everything it holds. */
export interface Hub {
  /** Printed address: scheme, host, port and base path. */
  readonly address: string
  readonly config: HubConfig
  readonly registry: Registry
  readonly auth: Auth
  readonly bus: EventBus
  readonly log: PluginLogger
  /** The token for `POST /api/setup`; undefined if there was an administrator at the start. */
  readonly setupToken: string | undefined
  /** Resolves when another hub has taken over the PostgreSQL database: this one must stop. */
  readonly takenOver: Promise<StartError>
  /** False once the data folder was moved, removed or replaced. */
  inPlace(): boolean
  /** Reopens the log file after it was moved away. Never rejects. */
  reopenLog(): Promise<void>
  /** Rejects new work, lets calls in flight finish (at most 30 s), ends streams, connections and processes. */
  stop(): Promise<void>
}
