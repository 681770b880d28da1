import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerSettings, TransportName } from '../../contract/records.ts'
import type { Era } from '../../domain/era.ts'
import { LISTS, type ListKind } from '../../domain/mcp-methods.ts'
import { itemJson } from '../../domain/tools/catalog-item.ts'
import type { EffectiveServer, UserRecord } from '../../registry/api.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { fromWireError, toWireError } from '../../transport-kit/wire-error.ts'
import type { TrialListener, TrialReport, TrialServer, TrialStep } from '../api.ts'
import type { Connection } from '../connection/connection.ts'
import { withSaid } from '../connection/end-reason.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import type { Launcher } from '../connection/launcher.ts'
import { StartDeadline } from '../connection/start-deadline.ts'
import type { ListEntry } from '../protocol.ts'
import { mayBeModern, notSpoken, probeEra } from './era-probe.ts'
import { hintingAddress, suggestsSse } from './transport-choice.ts'

const SHOWN_CHARACTERS = 1024 * 1024

type TrialOwner = Pick<UserRecord, 'id' | 'role' | 'number' | 'grants'>

interface TrialOptions {
  readonly signal: AbortSignal
  /** Redacts the secrets of the tested configuration in the report. */
  readonly redact: (text: string) => string
  /** Called when a step begins and when it has ended. */
  readonly onStep?: TrialListener | undefined
}

/**
 * Connects once with a configuration that is not saved, reads its tools, and closes; twice if only a URL is given and
 * the first response shows that Streamable HTTP is not supported. Never rejects. `id`: in the process table.
 */
export async function tryServer(
  launcher: Launcher,
  id: string,
  server: TrialServer,
  owner: TrialOwner,
  options: TrialOptions,
): Promise<TrialReport> {
  const { signal, redact } = options
  const steps: TrialStep[] = []
  let first = await tryOnce(launcher, id, asEffective(server, owner), steps, options)
  // A program that ends when it refuses a version; the versions to ask with become fewer.
  for (let version = nextVersion(first); version !== undefined && !signal.aborted; version = nextVersion(first))
    first = await tryOnce(launcher, id, { ...asEffective(server, owner), askedVersion: version }, steps, options)
  if (!('failure' in first)) return { ok: true, steps, ...first }
  const { settings } = asEffective(server, owner)
  const other = suggestsSse(settings, first.failure) && !signal.aborted
  const last = other
    ? await tryOnce(launcher, id, asEffective({ ...server, transport: 'sse' }, owner), steps, options)
    : first
  if (!('failure' in last)) return { ok: true, steps, ...last }
  const { code, message } = hintingAddress(settings, last.failure)
  return { ok: false, steps, tools: [], warnings: [], error: { code, message: redact(message) } }
}

function nextVersion(outcome: object | { readonly failure: WireError }): string | undefined {
  const version = 'failure' in outcome ? (outcome.failure as WireError).data?.nextVersion : undefined
  return typeof version === 'string' ? version : undefined
}

/** The outcome of a step. */
type Said = Pick<TrialStep, 'code' | 'count' | 'detail'>

async function tryOnce(
  launcher: Launcher,
  id: string,
  effective: EffectiveServer,
  steps: TrialStep[],
  { signal, redact, onStep }: TrialOptions,
): Promise<Pick<TrialReport, 'tools' | 'warnings'> | { readonly failure: WireError }> {
  const step = async <T>(
    name: string,
    work: () => Promise<T>,
    detail: (value: T) => string | Said | undefined,
  ): Promise<T> => {
    const began = performance.now()
    const ended = (ok: boolean, said: string | Said | undefined): void => {
      const durationMs = Math.round(performance.now() - began)
      const { detail = '', ...more } = typeof said === 'object' ? said : { detail: said }
      const done = { name, ok, durationMs, ...more, ...(detail ? { detail: redact(detail) } : {}) }
      steps.push(done)
      onStep?.(done)
    }
    onStep?.({ name })
    try {
      const value = await work()
      ended(true, detail(value))
      return value
    } catch (error) {
      const { code, message } = toWireError(error)
      ended(false, { code, detail: message })
      throw error
    }
  }
  const opened = Promise.withResolvers<JsonObject>()
  const tools = Promise.withResolvers<Pick<TrialReport, 'tools' | 'warnings'>>()
  // Either may reject before it is awaited.
  opened.promise.catch(() => undefined)
  tools.promise.catch(() => undefined)
  const abandon = (): void => {
    const error = new HubError('upstream_init_timeout', 'The trial was ended before the server was ready')
    opened.reject(error)
    tools.reject(error)
  }
  signal.addEventListener('abort', abandon, { once: true })
  let connection: Connection | undefined
  const shown = new TrialTools()
  try {
    const plan = await step(
      'check',
      () => launcher.prepare(id, effective),
      () => undefined,
    )
    const ready = plan.child?.confinement
      ? await step(
          'make its packages ready',
          () => launcher.ready(plan, () => !signal.aborted),
          ({ child }) => child?.command,
        )
      : plan
    const era = await trialEra(launcher, ready, signal)
    const whole = await launcher.withDocument(new StartDeadline().extend(ready))
    connection = await step(
      plan.child ? 'start the process' : `load the transport ${effective.settings.transport}`,
      async () =>
        launcher.launch(whole, {
          era,
          catalog: true,
          events: {
            opened: message => opened.resolve(message.serverInfo),
            unusable: () => undefined,
            ended: ({ reason, said }) => {
              const { era: wanted } = ready.settings
              const error = fromWireError(withSaid((wanted && notSpoken(reason, wanted)) ?? reason, said))
              opened.reject(error)
              tools.reject(error)
            },
            lost: () => undefined,
            input: () => undefined,
            answered: () => undefined,
            list: (kind, entries) => shown.add(kind, entries),
            catalog: ({ lists: { read, warnings } }) => {
              if (!read.includes('tools')) tools.reject(new HubError('upstream_protocol', warnings.join('; ')))
              else tools.resolve({ tools: shown.tools, warnings })
            },
            stale: () => undefined,
            notification: () => undefined,
            log: () => undefined,
          },
        }),
      ({ child }) => (child ? `pid ${child.pid}` : undefined),
    )
    await step(
      plan.kind === 'answers' ? 'open' : era === 'modern' ? 'server/discover' : 'initialize',
      () => opened.promise,
      info => describe(info),
    )
    const found = await step(
      LISTS.tools.method,
      () => tools.promise,
      ({ tools: { length } }) => ({ count: length, detail: length === 1 ? '1 tool' : `${length} tools` }),
    )
    return found
  } catch (error) {
    return { failure: toWireError(error) }
  } finally {
    signal.removeEventListener('abort', abandon)
    await connection?.close({ code: 'stopped', message: 'The trial is over' })
  }
}

/** The era for the trial: legacy where the server does not say. */
async function trialEra(launcher: Launcher, plan: LaunchPlan, signal: AbortSignal): Promise<Era> {
  if (!mayBeModern(plan)) return 'legacy'
  if (plan.settings.era) return plan.settings.era
  const probe = probeEra(launcher, plan)
  const end = (): void => void probe.end({ code: 'stopped', message: 'The trial is over' })
  signal.addEventListener('abort', end, { once: true })
  const era = await probe.verdict
  signal.removeEventListener('abort', end)
  await probe.end({ code: 'stopped', message: 'The server has said which version it speaks' })
  return era ?? 'legacy'
}

/** The tools in a trial's report. */
class TrialTools {
  readonly tools: JsonObject[] = []
  #characters = 0

  add(kind: ListKind, entries: readonly ListEntry[]): string | undefined {
    for (const entry of entries) {
      if (kind !== 'tools' || typeof entry === 'number') continue
      this.#characters += entry.text.length
      if (this.#characters > SHOWN_CHARACTERS)
        return `a trial shows ${SHOWN_CHARACTERS} characters of tools; the rest is left out`
      this.tools.push({ ...itemJson(entry), name: entry.key })
    }
    return undefined
  }
}

function describe({ name, version }: JsonObject): string | undefined {
  return typeof name === 'string' ? [name, version].filter(part => typeof part === 'string').join(' ') : undefined
}

function asEffective(server: TrialServer, owner: TrialOwner): EffectiveServer {
  const settings: ServerSettings = {
    name: 'trial',
    transport: server.transport as TransportName,
    ...(server.transportInferred ? { transportInferred: true } : {}),
    config: server.config,
    ...(server.era ? { era: server.era } : {}),
    variables: {},
    timeoutMs: server.timeoutMs,
    maxTimeoutMs: server.timeoutMs,
    ...(server.startTimeoutMs === undefined ? {} : { startTimeoutMs: server.startTimeoutMs }),
    visibility: 'private',
    enabled: true,
    start: 'eager',
    isolate: false,
    healthCheck: { enabled: false, interval: 0, timeout: 0, retries: 0 },
    passthroughHeaders: [],
    tools: {},
    secrets: [],
  }
  const { id: ownerId, number: ownerNumber, grants: ownerGrants } = owner
  // The account may have lost the role since the draft was validated.
  const ownerRole = server.ownerRole === 'admin' ? owner.role : 'user'
  const document = server.document ? { document: server.document } : {}
  const { secrets } = server
  return { settings, ownerId, ownerRole, ownerNumber, ownerGrants, secrets, configHash: '', ...document }
}
