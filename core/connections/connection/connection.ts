import type { ErrorCode } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Era } from '../../domain/era.ts'
import { parseExact } from '../../domain/json/exact-json.ts'
import { freePart, LongText } from '../../domain/json/long-text.ts'
import type { Variables } from '../../domain/server/variables.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { toWireError } from '../../transport-kit/wire-error.ts'
import type { RpcError, UpstreamRequest } from '../api.ts'
import type { UpstreamFrame } from '../protocol/frames.ts'
import type { FromWorker, LinkLimits, ListKind, ListPart, LongResult, OpenMessage } from '../protocol.ts'
import type { Child } from '../spawn/children.ts'
import { within } from '../within.ts'
import type { CallHome, PendingCall } from './call.ts'
import { CallsInFlight } from './calls-in-flight.ts'
import { ConnectionCredential } from './connection-credential.ts'
import type { ConnectionEvents } from './connection-events.ts'
import type { ConnectionOptions } from './connection-options.ts'
import { explainEnd } from './end-reason.ts'
import type { PortClient, WorkerPort } from './port.ts'
import { callFrame, withVariables } from './request-text.ts'

/** Longest wait for the last bytes of an ended process. */
const DRAIN_MS = 50

/** Seconds after which a call that an overloaded program could not take may be sent again. */
const OVERLOADED_S = 1
/** Errors of one exchange after which a request that changes nothing may be sent again. */
const REPEATED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['connection_lost', 'upstream_http_error'])

/** Main's half of one connection to an upstream: its ids, the calls in flight, its process. */
export class Connection implements PortClient, CallHome {
  readonly number: number
  readonly child: Child | undefined
  readonly credential: ConnectionCredential | undefined
  readonly #port: WorkerPort
  readonly #events: ConnectionEvents
  readonly #calls: CallsInFlight
  readonly #released: () => void
  readonly #era: Era
  readonly #hubVersion: string
  readonly #redact: (text: string) => string
  readonly #variables: Variables
  readonly #turns: (work: () => void) => void
  #logs = false
  #state: 'opening' | 'open' | 'retired' | 'closing' | 'ended' = 'opening'
  #travelling: Child['descriptors']
  #lastId = 0
  #workerDone = Promise.withResolvers<void>()

  constructor(options: ConnectionOptions) {
    this.number = options.number
    this.#port = options.port
    this.child = options.child
    const { credential } = options
    this.credential =
      credential &&
      new ConnectionCredential(credential, sent =>
        this.#port.control({ type: 'credential', conn: this.number, ...sent }),
      )
    this.#events = options.events
    this.#released = options.released
    this.#era = options.era
    this.#hubVersion = options.hubVersion
    this.#redact = options.redact
    this.#variables = options.variables
    this.#turns = options.turns
    this.#calls = new CallsInFlight(options.events, (key, reply) => {
      this.#port.frame(this.number, { kind: 'answer', key, text: JSON.stringify(reply) })
    })
  }

  get inFlight(): number {
    return this.#calls.size
  }

  /** Resolves when no call is in flight; the caller sends no more. */
  drained(): Promise<void> {
    return this.#calls.empty()
  }

  open(message: Omit<OpenMessage, 'type' | 'conn' | 'child' | 'era'>): void {
    const { child, number: conn } = this
    this.#port.attach(conn, this)
    this.#travelling = child?.descriptors
    const carried = this.#travelling
      ? { kind: 'descriptors' as const, read: this.#travelling.read.number, write: this.#travelling.write.number }
      : { kind: 'relay' as const }
    const carriage = child ? { child: { ...carried, pid: child.pid } } : {}
    this.#port.control({ type: 'open', conn, era: this.#era, ...message, ...carriage })
    if (!child) return
    void child.relay?.pump(bytes => this.#port.control({ type: 'bytes', conn, bytes }))
    void child.exited.then(how => {
      const detail = `The process of the server ended with ${how}`
      setTimeout(() => this.#port.control({ type: 'child-exited', conn, detail }), DRAIN_MS)
    })
  }

  send(call: PendingCall): void {
    const request = this.#filled(call)
    if (!request) return
    this.#lastId += 2
    const id = this.#lastId
    call.id = id
    call.home = this
    this.#calls.add(id, call)
    const common = { hubVersion: this.#hubVersion, logs: this.#logs }
    this.#port.frame(this.number, callFrame(id, this.#era, { request, input: call.input }, common))
  }

  /** The request as it is sent; undefined when that is impossible, and the call has failed. */
  #filled(call: PendingCall): UpstreamRequest | undefined {
    try {
      return withVariables(call.request, this.#variables)
    } catch (error) {
      const { code, message } = toWireError(error)
      call.fail(code, message)
      return undefined
    }
  }

  withdraw(call: PendingCall, reason: string): void {
    if (!this.#calls.giveUp(call)) return
    this.#port.frame(this.number, { kind: 'cancel', id: call.id, reason })
    this.#calls.endRequestsOf(call)
  }

  notify(method: string, params: JsonObject | undefined): void {
    const text = JSON.stringify({ jsonrpc: '2.0', method, ...(params ? { params } : {}) })
    this.#port.frame(this.number, { kind: 'send', text })
  }

  setLimits(limits: LinkLimits): void {
    this.#port.control({ type: 'limits', conn: this.number, ...limits })
  }

  /** Reads lists again; without `kinds` all of them. */
  refresh(kinds?: readonly ListKind[]): void {
    this.#port.control({ type: 'refresh', conn: this.number, ...(kinds ? { kinds } : {}) })
  }

  /** Closes it gracefully; `ended` is not called. Resolves when all of it has ended. */
  async close(reason: WireError): Promise<void> {
    // It may have ended by itself while its process is still stopping.
    if (this.#state === 'ended') return this.child?.stop()
    if (this.#state !== 'closing') {
      this.#state = 'closing'
      this.#port.control({ type: 'close', conn: this.number })
      this.#returnCalls(reason, () => true)
    }
    if (this.child) await this.child.stop()
    await within(this.#workerDone.promise, 2_500)
    this.#over()
  }

  frame(frame: UpstreamFrame): void {
    switch (frame.kind) {
      case 'result':
        return this.#result(frame)
      case 'note':
        return this.#calls.note(frame.id, frame.text)
      case 'error': {
        const call = this.#answered(frame.id)
        if (!call) return
        this.#events.failedCall?.(frame.text)
        call.finish({ kind: 'error', error: parseExact(frame.text) as unknown as RpcError })
        return
      }
      case 'failure':
        return this.#failed(frame)
      case 'progress':
        return this.#calls.progress(frame.id, parseExact(frame.text) as JsonObject)
      case 'notification':
        return this.#calls.notification(frame.id, parseExact(frame.text) as { method: string; params?: JsonObject })
      case 'request': {
        const { method, params } = parseExact(frame.text) as { method: string; params?: JsonObject }
        return this.#calls.asked(frame.id, frame.key, method, params)
      }
      case 'withdrawn':
        return this.#calls.withdrawn(frame.key)
    }
  }

  control(message: FromWorker): void {
    if (message.type === 'list') return this.#turns(() => this.#part(message))
    if (message.type === 'result') return this.#longResult(message)
    switch (message.type) {
      case 'credential-refused':
        void this.credential?.refused(message)
        return
      case 'taken':
        this.#travelling = undefined
        return
      case 'opened':
        if (this.#state !== 'opening') return
        this.#state = 'open'
        this.child?.poll()
        this.#logs = message.capabilities.logging !== undefined
        this.#events.opened(message)
        return
      case 'failed':
        this.child?.poll(message.below)
        this.#workerDone.resolve()
        this.#closeTravelling()
        this.#end(message.error, () => false)
        return
      case 'retired':
        return this.#retire(message.reason)
      case 'closed': {
        this.child?.poll(message.below)
        this.#workerDone.resolve()
        const begun = new Set(message.begun)
        this.#end(message.reason, id => begun.has(id))
        return
      }
      case 'catalog':
        return this.#events.catalog(message)
      case 'stale':
        return this.#events.stale()
      case 'refused':
        return this.#events.rejectedRequest?.(message.method)
      case 'health':
        return this.#events.health?.(message.report)
      case 'log':
        return this.#events.log(message.level, message.message)
      case 'malformed':
        return this.#events.malformed?.(message.detail, message.count)
      case 'stray':
        return this.#events.stray?.(message.line)
      case 'deviates':
        return this.#events.deviates?.(message.how)
      case 'write':
        return this.child?.relay?.write(message.text)
      case 'end':
        return this.child?.relay?.end()
    }
  }

  #result({ id, form, text }: Extract<UpstreamFrame, { kind: 'result' }>): void {
    const call = this.#answered(id)
    if (!call) return
    if (form === 'error') this.#events.failedCall?.(text)
    if (form === 'input') this.#events.input(call, text)
    else if (form === 'task' && call.request.tasks) call.finish({ kind: 'task', text })
    else if (form === 'task') call.fail('upstream_protocol', 'The server answered with a task, which nobody asked for')
    else call.finish({ kind: 'result', isError: form === 'error', text, ...noteOf(call) })
  }

  #longResult({ id, isError, bytes }: LongResult): void {
    const call = this.#answered(id)
    if (call) call.finish({ kind: 'result', isError, text: new LongText([bytes]), ...noteOf(call) })
    else freePart(bytes)
  }

  /** The call that has its answer now; undefined when it was given up. */
  #answered(id: number): PendingCall | undefined {
    const call = this.#calls.take(id)
    if (call) this.#events.answered(call)
    return call
  }

  #part({ kind, entries }: ListPart): void {
    if (this.#state !== 'open') return
    const full = this.#events.list(kind, entries)
    this.#port.control({ type: 'list-taken', conn: this.number, kind, ...(full === undefined ? {} : { full }) })
  }

  workerLost(reason: WireError): void {
    this.#closeTravelling()
    this.#workerDone.resolve()
    if (this.#state === 'closing' || this.#state === 'ended') return
    const { wasOpen, isRetired } = this.#closing()
    this.#returnCalls(reason, () => true)
    this.#over()
    if (!isRetired) this.#events.ended({ reason, wasOpen, exited: false, workerLost: true })
  }

  /** The upstream is gone: calls are lost at once, the reason follows when the exit of the process is known. */
  #end(reason: WireError, begun: (id: number) => boolean): void {
    if (this.#state === 'closing' || this.#state === 'ended') return
    const { wasOpen, isRetired } = this.#closing()
    this.#returnCalls(reason, begun)
    void explainEnd(this.child, reason, wasOpen).then(({ explained, exited, said }) => {
      this.#over()
      if (!isRetired)
        this.#events.ended({ reason: explained, wasOpen, exited, workerLost: false, ...(said ? { said } : {}) })
    })
  }

  #retire(reason: WireError): void {
    if (this.#state !== 'open') return
    if (this.#events.retired === undefined) {
      this.#port.control({ type: 'close', conn: this.number })
      return this.#end(reason, () => true)
    }
    this.#state = 'retired'
    this.#events.retired(reason)
  }

  #closing(): { readonly wasOpen: boolean; readonly isRetired: boolean } {
    const before = this.#state
    this.#state = 'closing'
    if (before !== 'retired') this.#events.unusable()
    return { wasOpen: before === 'open', isRetired: before === 'retired' }
  }

  #over(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#port.detach(this.number)
    this.#released()
    // A process that exited by itself may have left child processes.
    void this.child?.stop()
  }

  /** Closes descriptors that the worker never received. */
  #closeTravelling(): void {
    this.#travelling?.read.closeIfOurs()
    this.#travelling?.write.closeIfOurs()
    this.#travelling = undefined
  }

  #returnCalls({ message }: WireError, begun: (id: number) => boolean): void {
    for (const [id, call] of this.#calls.takeAll()) {
      // A server that was restarted loses the exchange, and then does not know the session: one loss, and not two.
      if (call.exchangeLostOn === this) call.repeated = false
      this.#events.lost(call, begun(id) ? 'begun' : 'not-begun', { code: 'connection_lost', message })
    }
  }

  #failed({ id, form, code, message }: Extract<UpstreamFrame, { kind: 'failure' }>): void {
    const call = this.#calls.take(id)
    if (!call) return
    const reason: WireError = this.credential?.reasonOf(code) ?? { code, message: this.#redact(message) }
    if (code === 'upstream_timeout') this.#calls.answeredLate(call)
    call.home = undefined
    if (form !== 'failed') this.#events.lost(call, form, reason)
    else if (REPEATED.has(code)) {
      call.exchangeLostOn = this
      this.#events.lost(call, 'begun', reason)
    } else call.failFor(code === 'overloaded' ? { ...reason, data: { retryAfterSeconds: OVERLOADED_S } } : reason)
  }
}

function noteOf({ note }: PendingCall): { readonly note?: string } {
  return note === undefined ? {} : { note }
}
