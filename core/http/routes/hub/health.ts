import { z } from 'zod'
import type { Upstreams } from '../../../connections/api.ts'
import type { HealthCheckKind, HealthState } from '../../../features/services/monitoring.ts'
import { type Reply, type Route, route } from '../../route.ts'

/** The state of the hub's parts. */
export interface HealthChecks {
  /** `unwritable` while the database's disk rejects writes: reads still work. */
  readonly store: 'ok' | 'unwritable' | 'lost'
  /** State of the log: `failed` while records wait or are lost, `none` for standard output without problems. */
  readonly sinks: 'ok' | 'failed' | 'none'
  readonly plugins: 'ok' | 'failed'
  /** `short` while the remaining file descriptors are reserved for the hub, so no further command can be started. */
  readonly descriptors: 'ok' | 'short'
  /** Isolation of child processes that this machine supports; `lost` when the sandbox's programs vanished after the
   * start. */
  readonly sandbox: 'full' | 'uid' | 'none' | 'lost'
  /** Human-readable limitations of the sandbox despite its level; absent if there are none. */
  readonly sandboxNotes?: readonly string[]
  /** Checks that plugins define; they are shown among the others. */
  readonly ofPlugins: readonly PluginCheck[]
}

/** The state of one check of a plugin, and whether it makes the hub `degraded`. */
export interface PluginCheck extends HealthState {
  readonly name: string
  readonly isDegraded: boolean
}

/** Dependencies of `/health` and related routes. */
export interface HealthDeps {
  readonly version: string
  /** Time of `performance.now()`, which is independent of the clock. */
  readonly startedAtMs: number
  readonly upstreams: Pick<Upstreams, 'counts'>
  draining(): boolean
  /** Queries the store; must respond within about a second, since load balancers wait for it. */
  checks(): Promise<HealthChecks>
  /** The checks that plugins define, by name. */
  readonly healthChecks: Readonly<Record<string, HealthCheckKind>>
}

const fault = z.object({ code: z.string(), message: z.string() })

/** The answer of a hub with these checks of plugins. */
function answerOf(kinds: HealthDeps['healthChecks']) {
  const ofPlugins = Object.entries(kinds).flatMap(([name, { states }]): [string, z.ZodType][] => [
    [name, z.enum(states)],
    [`${name}Fault`, fault.optional()],
  ])
  return z.object({
    status: z.enum(['ok', 'degraded', 'draining']),
    version: z.string(),
    uptimeMs: z.number().int(),
    servers: z.object({
      total: z.number().int(),
      online: z.number().int(),
      connecting: z.number().int(),
      offline: z.number().int(),
    }),
    tools: z.number().int(),
    checks: z.object({
      store: z.enum(['ok', 'unwritable', 'lost']),
      sinks: z.enum(['ok', 'failed', 'none']),
      ...Object.fromEntries(ofPlugins),
      plugins: z.enum(['ok', 'failed']),
      descriptors: z.enum(['ok', 'short']),
      sandbox: z.enum(['full', 'uid', 'none', 'lost']),
      sandboxNotes: z.array(z.string()).optional(),
    }),
  })
}

function exampleOf(kinds: HealthDeps['healthChecks']) {
  const well = Object.entries(kinds).map(([name, { states }]) => [name, states[0]] as const)
  return {
    status: 'ok',
    version: '1.1.0',
    uptimeMs: 86_400_000,
    servers: { total: 20, online: 19, connecting: 0, offline: 1 },
    tools: 112,
    checks: {
      ...{ store: 'ok', sinks: 'ok' },
      ...Object.fromEntries(well),
      ...{ plugins: 'ok', descriptors: 'ok', sandbox: 'full' },
    },
  }
}

/** The health check. */
export function healthRoutes(deps: HealthDeps): Route[] {
  const schema = answerOf(deps.healthChecks)
  const example = exampleOf(deps.healthChecks)
  return [
    route({
      method: 'GET',
      path: '/health',
      access: 'public',
      // Load balancers add parameters to defeat caches.
      anyQuery: true,
      summary: 'Whether the hub can do its work; an offline server alone does not matter',
      tag: 'health',
      responses: {
        200: { description: 'It can', schema, example },
        503: {
          description: 'It is stopping, or its store is lost',
          schema,
          example: { ...example, status: 'draining' },
        },
      },
      async handle() {
        return healthReply(deps, await deps.checks())
      },
    }),
  ]
}

function healthReply(deps: HealthDeps, checks: HealthChecks): Reply {
  const { tools, ...servers } = deps.upstreams.counts()
  const uptimeMs = Math.round(performance.now() - deps.startedAtMs)
  const { status, httpStatus } = healthStatus(checks, deps.draining())
  return {
    status: httpStatus,
    body: { status, version: deps.version, uptimeMs, servers, tools, checks: shownChecks(checks) },
    headers: httpStatus === 503 ? { 'retry-after': '5' } : {},
  }
}

function shownChecks({ store, sinks, ofPlugins, ...rest }: HealthChecks): object {
  const theirs = ofPlugins.flatMap(({ name, state, fault }) => [
    [name, state] as const,
    ...(fault ? [[`${name}Fault`, fault] as const] : []),
  ])
  return { store, sinks, ...Object.fromEntries(theirs), ...rest }
}

/**
 * A failed plugin or sink, a plugin's check that says so, an unwritable disk, a shortage of descriptors or a lost sandbox is
 * `degraded` with status 200: the hub still serves. Only stopping and a lost store respond 503.
 */
export function healthStatus(
  checks: HealthChecks,
  draining: boolean,
): { readonly status: 'ok' | 'degraded' | 'draining'; readonly httpStatus: 200 | 503 } {
  if (draining) return { status: 'draining', httpStatus: 503 }
  if (checks.store === 'lost') return { status: 'degraded', httpStatus: 503 }
  const { store, sinks, plugins, descriptors, sandbox, ofPlugins } = checks
  const parts = sinks === 'failed' || plugins === 'failed' || descriptors === 'short' || sandbox === 'lost'
  const failed = store !== 'ok' || parts || ofPlugins.some(({ isDegraded }) => isDegraded)
  return { status: failed ? 'degraded' : 'ok', httpStatus: 200 }
}
