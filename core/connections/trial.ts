import { HubError, toWireError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ServerSettings, TransportName } from '../contract/records.ts'
import type { Era } from '../domain/era.ts'
import type { EffectiveServer } from '../registry/api.ts'
import type { TrialReport, TrialServer } from './api.ts'
import type { Connection } from './connection.ts'
import { mayBeModern, probeEra } from './era-probe.ts'
import type { Launcher, LaunchPlan } from './launcher.ts'

interface Step {
  readonly name: string
  readonly ok: boolean
  readonly durationMs: number
  readonly detail?: string
}

/** Connects once with a configuration that is not saved, reads its tools, and closes. Never rejects. */
export async function tryServer(
  launcher: Launcher,
  server: TrialServer & { readonly ownerRole: EffectiveServer['ownerRole'] },
  signal: AbortSignal,
): Promise<TrialReport> {
  const steps: Step[] = []
  const step = async <T>(
    name: string,
    work: () => Promise<T>,
    detail: (value: T) => string | undefined,
  ): Promise<T> => {
    const began = performance.now()
    try {
      const value = await work()
      const said = detail(value)
      steps.push({
        name,
        ok: true,
        durationMs: Math.round(performance.now() - began),
        ...(said ? { detail: said } : {}),
      })
      return value
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      steps.push({ name, ok: false, durationMs: Math.round(performance.now() - began), detail: message })
      throw error
    }
  }
  const opened = Promise.withResolvers<JsonObject>()
  const tools = Promise.withResolvers<readonly JsonObject[]>()
  // Either may fail before somebody waits for it.
  opened.promise.catch(() => undefined)
  tools.promise.catch(() => undefined)
  const abandon = (): void => {
    const error = new HubError('upstream_init_timeout', 'The trial was ended before the server was ready')
    opened.reject(error)
    tools.reject(error)
  }
  signal.addEventListener('abort', abandon, { once: true })
  let connection: Connection | undefined
  try {
    const plan = await step(
      'check',
      () => launcher.prepare(TRIAL_ID, asEffective(server)),
      () => undefined,
    )
    const era = await trialEra(launcher, plan, signal)
    connection = await step(
      plan.child ? 'start the process' : 'load the transport',
      async () =>
        launcher.launch(plan, {
          era,
          catalog: true,
          events: {
            opened: message => opened.resolve(message.serverInfo),
            unusable: () => undefined,
            ended: ({ reason }) => {
              const error = new HubError(reason.code, reason.message)
              opened.reject(error)
              tools.reject(error)
            },
            lost: () => undefined,
            input: () => undefined,
            answered: () => undefined,
            catalog: ({ json }) => {
              if (json.tools === null) tools.reject(new HubError('upstream_protocol', json.warnings.join('; ')))
              else tools.resolve(JSON.parse(json.tools) as readonly JsonObject[])
            },
            stale: () => undefined,
            notification: () => undefined,
            log: () => undefined,
          },
        }),
      ({ child }) => (child ? `pid ${child.pid}` : undefined),
    )
    await step(
      era === 'modern' ? 'server/discover' : 'initialize',
      () => opened.promise,
      info => describe(info),
    )
    const list = await step(
      'tools/list',
      () => tools.promise,
      found => `${found.length} tools`,
    )
    return { ok: true, steps, tools: list }
  } catch (error) {
    const { code, message } = toWireError(error)
    return { ok: false, steps, tools: [], error: { code, message } }
  } finally {
    signal.removeEventListener('abort', abandon)
    await connection?.close({ code: 'stopped', message: 'The trial is over' })
  }
}

/** Which era to try it with: the earlier one where the server does not say. */
async function trialEra(launcher: Launcher, plan: LaunchPlan, signal: AbortSignal): Promise<Era> {
  if (!mayBeModern(plan)) return 'legacy'
  const probe = probeEra(launcher, plan)
  const end = (): void => void probe.end({ code: 'stopped', message: 'The trial is over' })
  signal.addEventListener('abort', end, { once: true })
  const era = await probe.verdict
  signal.removeEventListener('abort', end)
  await probe.end({ code: 'stopped', message: 'The server has said which version it speaks' })
  return era ?? 'legacy'
}

/** The id under which a trial's process stands in the process table. */
export const TRIAL_ID = 'trial'

function describe({ name, version }: JsonObject): string | undefined {
  return typeof name === 'string' ? [name, version].filter(part => typeof part === 'string').join(' ') : undefined
}

function asEffective(server: TrialServer & { readonly ownerRole: EffectiveServer['ownerRole'] }): EffectiveServer {
  const settings: ServerSettings = {
    name: 'trial',
    transport: server.transport as TransportName,
    config: server.config,
    variables: {},
    timeoutMs: server.timeoutMs,
    maxTimeoutMs: server.timeoutMs,
    visibility: 'private',
    enabled: true,
    start: 'eager',
    isolate: false,
    healthCheck: { enabled: false, interval: 0, timeout: 0, retries: 0 },
    passthroughHeaders: [],
    tools: {},
    secrets: [],
  }
  return { settings, ownerId: server.ownerId, ownerRole: server.ownerRole, configHash: '' }
}
