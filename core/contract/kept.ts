import type { JsonValue } from './json.ts'

/** A secret as it may be shown. */
export interface SecretInfo {
  /** Its last characters; empty for a short one. */
  readonly last4: string
  /** ISO 8601 UTC. */
  readonly setAt: string
}

/** One secret, which is stored sealed. Keys have letters, digits, `_` and `-`, at most 64. */
export interface SecretPlace {
  /** Null removes it. */
  put(value: string | null): Promise<void>
  open(): Promise<string | undefined>
  describe(): Promise<SecretInfo | undefined>
}

/** Secrets of the plugin: no other plugin and no route reads them. Those of a user are gone with the user. */
export interface PluginSecrets {
  hub(key: string): SecretPlace
  user(userId: string, key: string): SecretPlace
}

/** Values that the plugin keeps, of the hub or of one user, who accounts for their bytes. Keys as of secrets; null removes one. */
export interface PluginSettings {
  hub(): Promise<Readonly<Record<string, JsonValue>>>
  setHub(values: Readonly<Record<string, JsonValue | null>>): Promise<void>
  user(userId: string): Promise<Readonly<Record<string, JsonValue>>>
  setUser(userId: string, values: Readonly<Record<string, JsonValue | null>>): Promise<void>
}

/** Work beside requests. A job that throws is logged and counted under the plugin's name. All end with the plugin. */
export interface PluginJobs {
  /** Runs `work` again and again, `ms` (1,000 at least) after it ended. `signal` aborts when the plugin stops. */
  every(ms: number, work: (signal: AbortSignal) => Promise<void>): void
  /** Runs `work`, or waits for the same key's that runs already. Rejects with what it throws. */
  once<T>(key: string, work: (signal: AbortSignal) => Promise<T>): Promise<T>
}

/** A thread for long work, of a module whose default export answers: `export default (message) => answer`. What crosses is cloned. */
export interface PluginThread<Message = unknown, Answer = unknown> {
  /** Rejects with what the module throws; `connection_lost` after `timeoutMs` (30,000), which ends the thread until the next request. `moved`: buffers of the message that are not cloned. */
  request(message: Message, timeoutMs?: number, moved?: readonly ArrayBuffer[]): Promise<Answer>
  end(): void
}
