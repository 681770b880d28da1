import { HubError, toWireError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ServerSettings, TransportName } from '../contract/records.ts'
import type { EffectiveServer, UserRecord } from '../registry/api.ts'
import type { TrialReport, TrialServer } from './api.ts'
import type { Connection } from './connection.ts'
import type { Launcher } from './launcher.ts'

type TrialOwner = Pick<UserRecord, 'id' | 'role' | 'number' | 'grants'>

interface Step {
  readonly name: string
  readonly ok: boolean
  readonly durationMs: number
  readonly detail?: string
}

/**
 * Connects once with a configuration that is not saved, reads its tools, and closes. Never rejects. `id` stands for it in
 * the process table.
 */
export async function tryServer(
  launcher: Launcher,
  id: string,
  server: TrialServer,
  owner: TrialOwner,
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
      () => launcher.prepare(id, asEffective(server, owner)),
      () => undefined,
    )
    const ready = plan.child?.confinement
      ? await step(
          'make its packages ready',
          () => launcher.ready(plan, () => !signal.aborted),
          ({ child }) => child?.command,
        )
      : plan
    connection = await step(
      plan.child ? 'start the process' : 'load the transport',
      async () =>
        launcher.launch(ready, {
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
      'initialize',
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

function describe({ name, version }: JsonObject): string | undefined {
  return typeof name === 'string' ? [name, version].filter(part => typeof part === 'string').join(' ') : undefined
}

function asEffective(server: TrialServer, owner: TrialOwner): EffectiveServer {
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
  const { id: ownerId, role: ownerRole, number: ownerNumber, grants: ownerGrants } = owner
  return { settings, ownerId, ownerRole, ownerNumber, ownerGrants, configHash: '' }
}
