import { HubError, type JsonObject } from 'patchbay/contract'
import type { BridgeEndpoint, BridgePreview, BridgeSocket, BridgeTestStep } from 'patchbay/features'
import type { Clock } from './clock.ts'
import { Conversation } from './conversation.ts'
import type { DialGate } from './dial-gate.ts'
import type { LoggedFrame } from './message-log.ts'
import { offer } from './offered.ts'
import { EndpointTools, MOST_READ } from './tools.ts'

const STEP_MS = 10_000
/** From the handshake to the request for the tools. */
const LIST_MS = 2_000
const CODES = { normal: 1000, policy: 1008 } as const
const OUTBOUND = ['target', 'tools', 'address', 'dial', 'handshake', 'list'] as const
const INBOUND = ['target', 'tools', 'connection'] as const
const CALLS = 'This connection is a test of the endpoint, in which no tool is called'

/** Dependencies of a test. */
export interface TrialParts {
  readonly endpoint: BridgeEndpoint
  readonly clock: Clock
  readonly gate: DialGate
  /** Ends it early. */
  readonly signal: AbortSignal
  /** The link is connected, or dials now: no second connection is opened beside it. */
  readonly live?: { readonly code: string; readonly detail: string }
}

/** The tools as an assistant would get them now. Rejects with HubError as `open` does. */
export async function preview(endpoint: BridgeEndpoint): Promise<BridgePreview> {
  const session = await endpoint.open({ changed() {}, ended() {} })
  try {
    const { pages, leftOut } = offer(await session.tools(MOST_READ), endpoint.limits.tools)
    return { tools: pages.flatMap(page => JSON.parse(page) as JsonObject[]), leftOut }
  } finally {
    session.close()
  }
}

/** Goes the way of a connection once, and closes it. After a step that failed the others are skipped. Never rejects. */
export async function testEndpoint(parts: TrialParts): Promise<readonly BridgeTestStep[]> {
  const { endpoint, clock } = parts
  const tools = new EndpointTools(endpoint, clock, { changed() {}, ended() {} })
  const work = endpoint.direction === 'outbound' ? outboundWork(parts, tools) : inboundWork(parts, tools)
  const steps: BridgeTestStep[] = []
  let isFailed = false
  try {
    for (const [name, step] of work.steps) {
      const begunMs = clock.now()
      const durationMs = () => Math.round((clock.now() - begunMs) * 10) / 10
      try {
        const said = isFailed ? new Skipped('earlier_step_failed', 'A step before it failed') : await step()
        if (said instanceof Skipped) steps.push({ name, outcome: 'skipped', durationMs: 0, ...said.said })
        else steps.push({ name, outcome: 'ok', durationMs: durationMs(), ...said })
      } catch (error) {
        isFailed = true
        steps.push({ name, outcome: 'failed', durationMs: durationMs(), ...failureOf(error) })
      }
    }
  } finally {
    work.end()
    tools.close()
  }
  return steps
}

/** A step that is not needed, or not possible. */
class Skipped {
  readonly said: Said

  constructor(code: string, detail: string, params?: Said['params']) {
    this.said = { code, detail, ...(params ? { params } : {}) }
  }
}

/** Result of a step, in words and for translations. */
type Said = Pick<BridgeTestStep, 'code' | 'params' | 'detail'>

interface Work {
  readonly steps: readonly (readonly [name: string, step: () => Promise<Said | Skipped | undefined>])[]
  end(): void
}

function firstSteps({ clock, signal }: TrialParts, tools: EndpointTools): Work['steps'] {
  return [
    [
      INBOUND[0],
      () =>
        within(
          clock,
          signal,
          tools.open().then(() => undefined),
        ),
    ],
    [
      INBOUND[1],
      async () => {
        const { names, leftOut } = await within(clock, signal, tools.read())
        const more = leftOut.length === 0 ? '' : `, ${leftOut.length} left out`
        const detail = `${names.length} ${names.length === 1 ? 'tool' : 'tools'}${more}`
        return { code: 'tools_read', params: { tools: names.length, leftOut: leftOut.length }, detail }
      },
    ],
  ]
}

function inboundWork(parts: TrialParts, tools: EndpointTools): Work {
  const connection = async () =>
    parts.live ?? new Skipped('not_connected', 'No assistant is connected now; it dials the hub by itself')
  return { steps: [...firstSteps(parts, tools), [INBOUND[2], connection]], end() {} }
}

function outboundWork(parts: TrialParts, tools: EndpointTools): Work {
  const { endpoint, clock, gate, signal, live } = parts
  const over = new AbortController()
  const watch = new Watch()
  let socket: BridgeSocket | undefined
  let conversation: Conversation | undefined
  const unlessLive = (step: () => Promise<Said | Skipped | undefined>) => async () =>
    live === undefined ? step() : new Skipped(live.code, live.detail)

  const dial = async (): Promise<undefined> => {
    const entering = gate.enter()
    const leave = await within(clock, signal, entering).catch((error: unknown) => {
      void entering.then(late => late())
      throw error
    })
    const early: string[] = []
    const events = {
      message: (text: string) => void (conversation ? conversation.message(text) : early.push(text)),
      alive() {},
      closed: (code: number | undefined) => watch.ended(code),
    }
    try {
      const dialled = await within(clock, signal, endpoint.dial(events, over.signal))
      socket = dialled
      const noCalls = { read: () => tools.read(), call: async () => ({ error: { code: -32603, message: CALLS } }) }
      conversation = new Conversation({ endpoint, socket: dialled, tools: noCalls, clock, log: watch })
      for (const text of early) conversation.message(text)
      return undefined
    } finally {
      leave()
    }
  }
  const seconds = LIST_MS / 1_000
  const listed = async (): Promise<Said | Skipped> => {
    const isAsked = await Promise.race([
      watch.sent('tools/list').then(() => true),
      within(clock, signal, new Promise<never>(() => undefined), LIST_MS).catch(() => false),
    ])
    return isAsked
      ? { code: 'tools_asked', detail: 'The platform asked for the tools' }
      : new Skipped('tools_not_asked', `It did not ask for the tools in ${seconds} s`, { seconds })
  }
  return {
    steps: [
      ...firstSteps(parts, tools),
      [
        OUTBOUND[2],
        () =>
          within(
            clock,
            signal,
            endpoint.checkAddress().then(() => undefined),
          ),
      ],
      [OUTBOUND[3], unlessLive(dial)],
      [OUTBOUND[4], unlessLive(() => within(clock, signal, watch.sent('initialize')).then(() => undefined))],
      [OUTBOUND[5], unlessLive(listed)],
    ],
    end() {
      conversation?.end()
      socket?.close(CODES.normal)
      // A socket that opens later is closed by it.
      over.abort()
    },
  }
}

/** Frames of the test's connection, and its end. */
class Watch {
  readonly #sent = new Set<string>()
  readonly #waiting: { readonly method: string; resolve(): void; reject(error: HubError): void }[] = []
  #end: HubError | undefined

  /** Handles a logged frame of the conversation: replies have the method of their request. */
  add({ direction, method }: LoggedFrame): void {
    if (direction !== 'out' || method === undefined) return
    this.#sent.add(method)
    for (const waiting of this.#waiting) if (waiting.method === method) waiting.resolve()
  }

  ended(code: number | undefined): void {
    const isRefused = code === CODES.policy
    const how = code === undefined ? 'The connection was lost' : `The platform closed the connection with ${code}`
    this.#end = new HubError(isRefused ? 'authorization_required' : 'connection_lost', how)
    for (const waiting of this.#waiting) waiting.reject(this.#end)
  }

  /** Resolves when a request of this method has been answered; rejects when the connection ended before. */
  sent(method: string): Promise<void> {
    if (this.#sent.has(method)) return Promise.resolve()
    if (this.#end) return Promise.reject(this.#end)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ method, resolve, reject })
    return promise
  }
}

/** Rejects with `upstream_timeout` when that takes too long, and with `draining` when the test is ended from outside. */
async function within<T>(clock: Clock, signal: AbortSignal, work: Promise<T>, ms = STEP_MS): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(new HubError('draining', 'The test was ended', { retryAfterSeconds: 5 }))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  const cancel = clock.after(ms, () => reject(new HubError('upstream_timeout', `Nothing came within ${ms / 1_000} s`)))
  try {
    return await Promise.race([work, promise])
  } finally {
    cancel()
    signal.removeEventListener('abort', stop)
  }
}

function failureOf(error: unknown): { readonly code: string; readonly detail: string } {
  if (!(error instanceof HubError)) return { code: 'internal', detail: 'The hub could not do it' }
  const isRefused = error.code === 'authorization_required'
  return { code: isRefused ? 'token_refused' : error.code, detail: error.message.slice(0, 500) }
}
