import type { JsonValue } from './json.ts'

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
