import type { HealthCheck, HealthCheckKind } from '../features/services/monitoring.ts'
import type { HealthChecks, PluginCheck } from './routes/hub/health.ts'

/** Longest wait of `/health` for the store's answer, in milliseconds. */
const STORE_PING_MS = 1_000
/** Shortest time between two counts of file descriptors, in milliseconds: anybody may request `/health`. */
const COUNT_MS = 1_000

/** The parts of the hub that `/health` reports on. */
export interface HealthParts {
  /** Resolves when the store answers, with whether it accepts writes. */
  pingStore(): Promise<'ok' | 'unwritable'>
  /** State of the log: `toFile` when it is written to a file, `failing` when writing it fails. */
  log(): { readonly toFile: boolean; readonly failing: boolean }
  anyPluginFailed(): boolean
  /** The checks of plugins. */
  ofPlugins(): readonly PluginCheck[]
  /** A sentence when the hub reserves its last file descriptors for itself; otherwise undefined. */
  descriptorShortage(): string | undefined
  sandbox(): { readonly present: HealthChecks['sandbox']; readonly notes: readonly string[] }
}

/** Checks every part again at each call, so that a recovery shows at once. */
export function createHealthChecks(parts: HealthParts): () => Promise<HealthChecks> {
  let counted: { readonly atMs: number; readonly short: boolean } | undefined

  const descriptorsShort = (): boolean => {
    const nowMs = performance.now()
    if (!counted || nowMs - counted.atMs >= COUNT_MS) {
      counted = { atMs: nowMs, short: parts.descriptorShortage() !== undefined }
    }
    return counted.short
  }

  return async () => {
    const store = await answered(parts.pingStore())
    const { toFile, failing } = parts.log()
    const { present, notes } = parts.sandbox()
    return {
      store,
      sinks: failing ? 'failed' : toFile ? 'ok' : 'none',
      plugins: parts.anyPluginFailed() ? 'failed' : 'ok',
      descriptors: descriptorsShort() ? 'short' : 'ok',
      sandbox: present,
      ...(notes.length > 0 ? { sandboxNotes: notes } : {}),
      ofPlugins: parts.ofPlugins(),
    }
  }
}

/** The present states of checks that plugins define, by name. `contributions`: live, those to the point `healthCheck`. */
export function pluginChecks(
  kinds: Readonly<Record<string, HealthCheckKind>>,
  contributions: ReadonlyMap<string, HealthCheck>,
): readonly PluginCheck[] {
  return Object.entries(kinds).map(([name, { absent, degraded }]) => {
    const { state, fault } = contributions.get(name)?.state() ?? { state: absent }
    return { name, state, isDegraded: degraded.includes(state), ...(fault ? { fault } : {}) }
  })
}

async function answered(ping: Promise<'ok' | 'unwritable'>): Promise<HealthChecks['store']> {
  let limit: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<'lost'>(resolve => {
    limit = setTimeout(() => resolve('lost'), STORE_PING_MS)
  })
  const outcome = ping.catch(() => 'lost' as const)
  const reached = await Promise.race([outcome, late])
  clearTimeout(limit)
  return reached
}
