import type { HealthChecks } from './routes/hub/health.ts'

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
  /** State of the store of log records, with the fault that pauses it. */
  logStore(): { readonly isKept: boolean; readonly fault: HealthChecks['historyFault'] }
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
      ...storeCheck(parts.logStore()),
      plugins: parts.anyPluginFailed() ? 'failed' : 'ok',
      descriptors: descriptorsShort() ? 'short' : 'ok',
      sandbox: present,
      ...(notes.length > 0 ? { sandboxNotes: notes } : {}),
    }
  }
}

function storeCheck({ isKept, fault }: ReturnType<HealthParts['logStore']>) {
  if (!isKept) return { history: 'none' } as const
  return fault ? ({ history: 'paused', historyFault: fault } as const) : ({ history: 'ok' } as const)
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
