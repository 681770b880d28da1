import type { JsonObject } from '../../contract/json.ts'
import type { ServerRequestKind } from '../../contract/records.ts'
import type { Era } from '../../domain/era.ts'
import { serverRequestKind } from '../../domain/mcp-methods.ts'
import type { CatalogItem } from '../../domain/tools/catalog-item.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { AskReply } from '../api.ts'
import type { Connection } from '../connection/connection.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import type { Launcher } from '../connection/launcher.ts'

/** Without a server request for so long after the lists or the last request, a server is taken to send no more. */
const QUIET_MS = 500
/** Longest probe after the handshake; lists that take longer to read are not compared. */
const MOST_MS = 15_000

/** The findings of one `probeTools`. */
export interface ProbedTools {
  /** As listed for a client that declares the offered capabilities. */
  readonly tools: readonly CatalogItem[]
  /** The server requests that it sent without a call. */
  readonly asked: ReadonlySet<ServerRequestKind>
}

/** Settings of one `probeTools`. */
export interface ToolsProbeOptions {
  readonly era: Era
  /** The client capabilities declared to the server. */
  readonly offers: JsonObject
  /** Called with the items; returns the reason when no more are accepted. */
  readonly take: (items: readonly CatalogItem[]) => string | undefined
  readonly signal: AbortSignal
}

const PROBED: WireError = { code: 'stopped', message: 'The hub has seen what the server lists' }

/**
 * Connects as a client with these capabilities, reads the tools, records server requests that arrive without a call,
 * and closes. Rejects with the reason when it cannot be opened; resolves with undefined when aborted.
 */
export async function probeTools(
  launcher: Pick<Launcher, 'launch'>,
  plan: LaunchPlan,
  { era, offers, take, signal }: ToolsProbeOptions,
): Promise<ProbedTools | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<ProbedTools | undefined>()
  const asked = new Set<ServerRequestKind>()
  let staged: CatalogItem[] = []
  let before: readonly CatalogItem[] = []
  let read: readonly CatalogItem[] | undefined
  let quiet: ReturnType<typeof setTimeout> | undefined
  const rest = (): void => {
    clearTimeout(quiet)
    if (read) quiet = setTimeout(() => resolve(read && { tools: read, asked }), QUIET_MS)
  }
  const most = setTimeout(() => resolve(read && { tools: read, asked }), plan.startTimeoutMs + MOST_MS)
  const stop = (): void => resolve(undefined)
  signal.addEventListener('abort', stop, { once: true })
  let connection: Connection | undefined
  try {
    connection = launcher.launch(plan, {
      era,
      offers,
      session: { key: 'probe' },
      catalog: true,
      events: {
        opened: () => undefined,
        unusable: () => undefined,
        ended: ({ reason }) => reject(new ToolsProbeFailed(reason)),
        lost: () => undefined,
        input: () => undefined,
        answered: () => undefined,
        asked: method => {
          const capability = serverRequestKind(method)
          if (capability) asked.add(capability)
          rest()
          return Promise.resolve(nobody(method))
        },
        list: (kind, entries) => {
          if (kind !== 'tools') return undefined
          const items = entries.flatMap(entry => (typeof entry === 'number' ? (before[entry] ?? []) : entry))
          staged.push(...items)
          return take(items)
        },
        catalog: ({ lists, more }) => {
          if (lists.read.includes('tools')) {
            read = staged
            before = staged
          } else if (!more && !lists.again.includes('tools')) {
            reject(new ToolsProbeFailed({ code: 'upstream_protocol', message: lists.warnings.join('; ') }))
          }
          staged = []
          rest()
        },
        stale: () => clearTimeout(quiet),
        notification: () => undefined,
        log: () => undefined,
      },
    })
    return await promise
  } finally {
    clearTimeout(quiet)
    clearTimeout(most)
    signal.removeEventListener('abort', stop)
    await connection?.close(PROBED)
  }
}

/** The connection ended before the lists were read. */
export class ToolsProbeFailed extends Error {
  readonly reason: WireError

  constructor(reason: WireError) {
    super(reason.message)
    this.reason = reason
  }
}

function nobody(method: string): AskReply {
  return {
    error: { code: -32603, message: `The hub reads what the server lists; no client is there to answer ${method}` },
  }
}
