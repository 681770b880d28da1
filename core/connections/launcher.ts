import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { HeaderProvider, TransportContribution } from '../contract/points.ts'
import type { HealthCheck, ServerSettings } from '../contract/records.ts'
import type { Era } from '../domain/era.ts'
import { type SandboxLevel, spawnPolicy } from '../domain/spawn-policy.ts'
import type { EffectiveServer } from '../registry/api.ts'
import type { SessionBinding } from './api.ts'
import type { ChildSpec } from './child-program.ts'
import type { Children } from './children.ts'
import { Connection } from './connection.ts'
import type { ConnectionEvents } from './connection-events.ts'
import type { WorkerPool } from './pool.ts'
import type { Liveness } from './protocol.ts'

/** Milliseconds from the start of a process, or of a dial, until the upstream must have shaken hands. */
const PROCESS_START_MS = 30_000
const DIAL_START_MS = 10_000
const LIVENESS: Liveness = { idleMs: 30_000, timeoutMs: 5_000, misses: 2 }

export interface LauncherOptions {
  readonly pool: WorkerPool
  readonly children: Children
  readonly stdioPolicy: 'sandboxed' | 'admin' | 'off'
  readonly sandboxLevel: SandboxLevel
  readonly outboundAllow: readonly string[]
  readonly hubVersion: string
  readonly transports: () => ReadonlyMap<string, TransportContribution>
  readonly headerProviders: () => ReadonlyMap<string, HeaderProvider>
}

/** All that one start needs, judged and filled in. */
export interface LaunchPlan {
  readonly serverId: string
  readonly settings: ServerSettings
  readonly module: string
  readonly config: JsonObject
  readonly child: Omit<ChildSpec, 'sessionId'> | undefined
  readonly admin: boolean
  readonly startTimeoutMs: number
}

export interface LaunchOptions {
  readonly era: Era
  /** Tools of earlier lists, for what their schemas mark. */
  readonly knownTools?: readonly JsonObject[]
  readonly session?: SessionBinding
  /** Own thread, beyond what the server's settings ask. */
  readonly isolate?: boolean
  /** Read the lists. */
  readonly catalog: boolean
  readonly events: ConnectionEvents
}

/** Makes connections: asks the rule before every process, the header providers before every dial. */
export class Launcher {
  readonly #options: LauncherOptions
  #lastNumber = 0

  constructor(options: LauncherOptions) {
    this.#options = options
  }

  /** Everything that can be refused before a process starts or an address is dialled. Throws HubError. */
  async prepare(serverId: string, effective: EffectiveServer): Promise<LaunchPlan> {
    const { settings, ownerId, ownerRole } = effective
    const contribution = this.#contribution(settings.transport)
    const child = contribution.child?.(settings.config)
    if (child) this.#permit(effective)
    const config = child ? settings.config : await this.#withHeaders(serverId, ownerId, settings)
    return {
      serverId,
      settings,
      module: contribution.module,
      config,
      child: child && { serverId, ...child },
      admin: ownerRole === 'admin',
      startTimeoutMs: child ? PROCESS_START_MS : DIAL_START_MS,
    }
  }

  /** Starts the process, if there is one, and the link. Throws HubError when the process cannot be started. */
  launch(plan: LaunchPlan, options: LaunchOptions): Connection {
    const { pool, children, outboundAllow } = this.#options
    const { settings } = plan
    const sessionId = options.session?.id
    const child = plan.child && children.spawn({ ...plan.child, ...(sessionId === undefined ? {} : { sessionId }) })
    const port = pool.place(settings.isolate || options.isolate === true)
    this.#lastNumber += 1
    const connection = new Connection({
      number: this.#lastNumber,
      port,
      child,
      events: options.events,
      era: options.era,
      hubVersion: this.#options.hubVersion,
      released: () => pool.released(port),
    })
    const capabilities = offered(options.session)
    connection.open({
      name: settings.name,
      module: plan.module,
      config: plan.config,
      capabilities,
      asks: Object.keys(capabilities).length > 0,
      timeoutMs: settings.timeoutMs,
      maxTimeoutMs: settings.maxTimeoutMs,
      startTimeoutMs: plan.startTimeoutMs,
      liveness: livenessOf(settings.healthCheck),
      catalog: options.catalog,
      ...(options.era === 'modern' && !child && options.knownTools ? { knownTools: options.knownTools } : {}),
      rights: { networks: outboundAllow, admin: plan.admin },
    })
    return connection
  }

  #contribution(transport: string): TransportContribution {
    const all = this.#options.transports()
    const found = all.get(transport) ?? [...all.values()].find(candidate => candidate.transport === transport)
    if (found) return found
    throw new HubError('transport_unavailable', `No plugin offers the transport "${transport}"`, {
      hint: 'Enable the plugin that brings it.',
    })
  }

  #permit({ settings, ownerRole }: EffectiveServer): void {
    const { stdioPolicy, sandboxLevel } = this.#options
    const wanted = settings.config.sandbox
    const verdict = spawnPolicy({
      policy: stdioPolicy,
      level: sandboxLevel,
      ownerRole,
      ...(wanted === 'full' || wanted === 'off' ? { sandbox: wanted } : {}),
    })
    // Never run outside what the rule has said, not even where nothing can put a program inside.
    if (verdict.sandbox === 'full') {
      throw new HubError(
        'stdio_not_permitted',
        'Cannot run a command for this server: this hub has no sandbox to run it in',
      )
    }
  }

  /** A header that was set by hand wins over a provider's, whatever the case of its letters. */
  async #withHeaders(serverId: string, ownerId: string, settings: ServerSettings): Promise<JsonObject> {
    const { config, transport } = settings
    const providers = this.#options.headerProviders()
    if (providers.size === 0 || typeof config.url !== 'string') return config
    const manual =
      typeof config.headers === 'object' && config.headers !== null && !Array.isArray(config.headers)
        ? config.headers
        : {}
    const taken = new Set(Object.keys(manual).map(name => name.toLowerCase()))
    const headers: JsonObject = { ...manual }
    for (const provider of providers.values()) {
      const offeredHeaders = await provider.headersFor({ id: serverId, ownerId, transport, url: config.url })
      for (const [name, value] of Object.entries(offeredHeaders)) {
        if (taken.has(name.toLowerCase())) continue
        taken.add(name.toLowerCase())
        headers[name] = value
      }
    }
    return { ...config, headers }
  }
}

/** What an upstream is told that the client can do: of a session of its own exactly that, else nothing. */
function offered(session: SessionBinding | undefined): JsonObject {
  const capabilities: JsonObject = {}
  for (const name of ['sampling', 'elicitation', 'roots']) {
    const value = session?.capabilities[name]
    if (value !== undefined) capabilities[name] = value
  }
  return capabilities
}

function livenessOf(check: HealthCheck): Liveness {
  return check.enabled
    ? { idleMs: check.interval, timeoutMs: check.timeout, misses: Math.max(1, check.retries) }
    : LIVENESS
}
