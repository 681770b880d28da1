import type { ErrorCode, WireError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { Era } from '../../domain/era.ts'
import { asDouble, parseExact } from '../../domain/json/exact-json.ts'
import { freePart, LongText } from '../../domain/json/long-text.ts'
import { fillArguments, type Variables } from '../../domain/server/variables.ts'
import { SequenceMap } from '../../transport-kit/sequence-map.ts'
import { toWireError } from '../../transport-kit/wire-error.ts'
import type { RpcError, UpstreamRequest } from '../api.ts'
import {
  type FromWorker,
  type LinkLimits,
  type ListKind,
  type ListPart,
  type LongResult,
  type OpenMessage,
  readNumber,
} from '../protocol.ts'
import type { Child } from '../spawn/children.ts'
import { within } from '../within.ts'
import type { CallHome, PendingCall } from './call.ts'
import type { ConnectionEvents } from './connection-events.ts'
import { explainEnd } from './end-reason.ts'
import type { PortClient, WorkerPort } from './port.ts'
import { RecentlyCancelled } from './recently-cancelled.ts'
import { modernRequestText, requestText } from './request-text.ts'
import { ServerRequests } from './server-requests.ts'

/** How long the last bytes of an ended process may take to arrive. */
const DRAIN_MS = 50

/** Errors of one exchange after which a request that changes nothing may be sent again. */
const REPEATED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['connection_lost', 'upstream_http_error'])

/** Main's half of one connection to an upstream: its ids, the calls in flight, its process. */
export class Connection implements PortClient, CallHome {
  readonly number: number
  readonly child: Child | undefined
  readonly #port: WorkerPort
  readonly #events: ConnectionEvents
  readonly #calls = new SequenceMap<PendingCall>()
  readonly #released: () => void
  readonly #serverRequests: ServerRequests
  readonly #era: Era
  readonly #hubVersion: string
  readonly #redact: (text: string) => string
  readonly #variables: Variables
  readonly #intake: (work: () => void) => void
  #logs = false
  readonly #strays = new RecentlyCancelled()
  #state: 'opening' | 'open' | 'closing' | 'ended' = 'opening'
  #travelling: Child['descriptors']
  #lastId = 0
  #workerDone = Promise.withResolvers<void>()

  constructor(options: {
    readonly number: number
    readonly port: WorkerPort
    readonly child: Child | undefined
    readonly events: ConnectionEvents
    readonly era: Era
    readonly hubVersion: string
    /** Redacts the error messages of calls; the worker redacts everything else except results. */
    readonly redact: (text: string) => string
    readonly variables: Variables
    /** Runs some work in a turn of the event loop of its own. */
    readonly intake: (work: () => void) => void
    /** Called when the connection no longer uses its worker thread. */
    readonly released: () => void
  }) {
    this.number = options.number
    this.#port = options.port
    this.child = options.child
    this.#events = options.events
    this.#released = options.released
    this.#era = options.era
    this.#hubVersion = options.hubVersion
    this.#redact = options.redact
    this.#variables = options.variables
    this.#intake = options.intake
    this.#serverRequests = new ServerRequests((key, reply) => {
      this.#port.frame(`a${this.number} ${key} ${JSON.stringify(reply)}`)
    })
  }

  get inFlight(): number {
    return this.#calls.size
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
    this.#calls.set(id, call)
    const { passthroughHeaders, modern } = request
    const isModern = this.#era === 'modern'
    const text = isModern
      ? modernRequestText(id, { request, input: call.input }, { hubVersion: this.#hubVersion, logs: this.#logs })
      : requestText(id, request)
    const asIs = isModern && modern !== undefined
    if (passthroughHeaders === undefined && !asIs) {
      this.#port.frame(`c${this.number} ${id} ${text}`)
    } else {
      const headers = JSON.stringify(passthroughHeaders ?? {})
      this.#port.frame(`${asIs ? 'v' : 'h'}${this.number} ${id} ${headers.length} ${headers}${text}`)
    }
  }

  /** The request as it is sent; undefined when that is impossible, and the call has failed. */
  #filled(call: PendingCall): UpstreamRequest | undefined {
    const { request } = call
    const given = request.params?.arguments
    if (!request.variablesIn || !isJsonObject(given)) return request
    try {
      return {
        ...request,
        params: { ...request.params, arguments: fillArguments(given, request.variablesIn, this.#variables) },
      }
    } catch (error) {
      const { code, message } = toWireError(error)
      call.fail(code, message)
      return undefined
    }
  }

  withdraw(call: PendingCall, reason: string): void {
    if (!this.#calls.delete(call.id)) return
    this.#strays.givenUp(call)
    this.#port.frame(`x${this.number} ${call.id} ${JSON.stringify(reason)}`)
    this.#serverRequests.end(call)
  }

  notify(method: string, params: JsonObject | undefined): void {
    this.#port.frame(`s${this.number} ${JSON.stringify({ jsonrpc: '2.0', method, ...(params ? { params } : {}) })}`)
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

  frame(frame: string, from: number): void {
    const letter = frame.charCodeAt(0)
    const number = readNumber(frame, from)
    const next = frame.indexOf(' ', from) + 1
    if (letter === 114) {
      const call = this.#take(number)
      if (!call) return
      this.#events.answered(call)
      const flag = frame.charCodeAt(next)
      const text = frame.slice(next + 2)
      if (flag === 49) this.#events.failedCall?.(text)
      if (flag === 50) this.#events.input(call, text)
      else call.finish({ kind: 'result', isError: flag === 49, text })
    } else if (letter === 101) {
      const call = this.#take(number)
      if (!call) return
      this.#events.answered(call)
      const text = frame.slice(next)
      this.#events.failedCall?.(text)
      call.finish({ kind: 'error', error: parseExact(text) as unknown as RpcError })
    } else if (letter === 102) {
      this.#failed(number, frame, next)
    } else if (letter === 110) {
      this.#progress(number, parseExact(frame.slice(next)) as JsonObject)
    } else if (letter === 109) {
      this.#notification(number, parseExact(frame.slice(next)) as { method: string; params?: JsonObject })
    } else if (letter === 113) {
      const jsonAt = frame.indexOf(' ', next) + 1
      const asked = parseExact(frame.slice(jsonAt)) as { method: string; params?: JsonObject }
      this.#asked(number, readNumber(frame, next), asked.method, asked.params)
    } else if (letter === 100) {
      this.#serverRequests.withdrawn(number)
      for (const [, call] of this.#calls.entries()) this.#serverRequests.withdrawnOf(call, number)
    }
  }

  control(message: FromWorker): void {
    if (message.type === 'list') return this.#intake(() => this.#part(message))
    if (message.type === 'result') return this.#longResult(message)
    switch (message.type) {
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
      case 'closed': {
        this.child?.poll(message.below)
        this.#workerDone.resolve()
        const begun = new Set(message.begun)
        this.#end(message.reason, id => begun.has(id))
        return
      }
      case 'catalog':
        this.#events.catalog(message)
        return
      case 'stale':
        this.#events.stale()
        return
      case 'refused':
        this.#events.refusedAsk?.(message.method)
        return
      case 'health':
        this.#events.health?.(message.report)
        return
      case 'log':
        this.#events.log(message.level, message.message)
        return
      case 'write':
        this.child?.relay?.write(message.text)
        return
      case 'end':
        this.child?.relay?.end()
        return
    }
  }

  #longResult({ id, isError, bytes }: LongResult): void {
    const call = this.#take(id)
    if (!call) return freePart(bytes)
    this.#events.answered(call)
    call.finish({ kind: 'result', isError, text: new LongText([bytes]) })
  }

  /** A request that names no call is for the client of the connection; with a lease, for its one call's caller. */
  #asked(id: number, key: number, method: string, params: JsonObject | undefined): void {
    const { asked } = this.#events
    this.#events.asks?.(method)
    if (id === 0 && asked) this.#serverRequests.askClient(asked, key, method, params)
    else
      this.#serverRequests.askCaller(
        id === 0 ? this.#calls.entries().at(-1)?.[1] : this.#calls.get(id),
        key,
        method,
        params,
      )
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
    const wasOpen = this.#state === 'open'
    this.#state = 'closing'
    this.#events.unusable()
    this.#returnCalls(reason, () => true)
    this.#over()
    this.#events.ended({ reason, wasOpen, exited: false, workerLost: true })
  }

  /** The upstream is gone: calls are lost at once, the reason follows when the exit of the process is known. */
  #end(reason: WireError, begun: (id: number) => boolean): void {
    if (this.#state === 'closing' || this.#state === 'ended') return
    const wasOpen = this.#state === 'open'
    this.#state = 'closing'
    this.#events.unusable()
    this.#returnCalls(reason, begun)
    void explainEnd(this.child, reason).then(({ explained, exited }) => {
      this.#over()
      this.#events.ended({ reason: explained, wasOpen, exited, workerLost: false })
    })
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
    const calls = this.#calls.entries()
    this.#calls.clear()
    this.#serverRequests.endAll()
    for (const [id, call] of calls) {
      call.home = undefined
      this.#serverRequests.end(call)
      this.#events.lost(call, begun(id) ? 'begun' : 'not-begun', { code: 'connection_lost', message })
    }
  }

  #take(id: number): PendingCall | undefined {
    const call = this.#calls.get(id)
    if (!call) return undefined
    this.#calls.delete(id)
    if (call.asks !== undefined) this.#serverRequests.end(call)
    return call
  }

  #failed(id: number, frame: string, at: number): void {
    const call = this.#take(id)
    if (!call) return
    const codeAt = at + 2
    const codeEnd = frame.indexOf(' ', codeAt)
    const reason: WireError = {
      code: frame.slice(codeAt, codeEnd) as ErrorCode,
      message: this.#redact(frame.slice(codeEnd + 1)),
    }
    const how = frame.charCodeAt(at)
    if (reason.code === 'upstream_timeout') this.#strays.givenUp(call)
    call.home = undefined
    if (how === 49) this.#events.lost(call, 'not-sent', reason)
    else if (how === 50) this.#events.lost(call, 'repaired', reason)
    else if (REPEATED.has(reason.code)) this.#events.lost(call, 'begun', reason)
    else call.fail(reason.code, reason.message)
  }

  #progress(id: number, { progressToken: _, ...params }: JsonObject): void {
    const call = this.#calls.get(id)
    const done = asDouble(params.progress)
    if (!call?.request.progress || done === undefined || done <= call.lastProgress) return
    call.lastProgress = done
    call.request.progress(params)
  }

  #notification(id: number, { method, params }: { method: string; params?: JsonObject }): void {
    let call = id === 0 ? undefined : this.#calls.get(id)
    if (!call && method === 'notifications/message' && this.#calls.size === 1) {
      // Over stdio a log message names no call; with a single call in flight it can be matched.
      for (const [, only] of this.#calls.entries()) if (!this.#strays.possible(only)) call = only
    }
    if (call?.request.notification) call.request.notification(method, params)
    else this.#events.notification(method, params)
  }
}
