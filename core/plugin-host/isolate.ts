import { HubError } from '../contract/errors.ts'
import type { ExtensionPoints } from '../contract/points.ts'
import type { RouteAnswer } from '../contract/routes.ts'
import { endThread } from '../events/thread-ends.ts'
import { startThread } from '../events/thread-starts.ts'
import type { DescribedRoute } from '../http/plugin-routes.ts'
import type { WireError } from '../transport-kit/wire-error.ts'
import { fromWireError } from '../transport-kit/wire-error.ts'
import {
  type FromPlugin,
  type OutboundRules,
  type PluginToLoad,
  ROUTE_POINT,
  type ToPlugin,
} from './isolate-protocol.ts'
import type { IsolatedPlugin, IsolatedPluginHost } from './isolated-plugin.ts'
import { carryJson, takeJson } from './json-crossing.ts'
import { carriedError } from './services/carried-error.ts'
import type { OpenRoute } from './services/routes.ts'

/** Longest time for one hook of an isolated plugin, in milliseconds, unless the hook has its own limit. */
const HOOK_BUDGET_MS = 2_000
/** The same for a batch of log records, somewhat longer than the queue waits for it. */
const SINK_BUDGET_MS = 35_000
/** Time for the end of a plugin, after which its worker is terminated. */
const STOP_BUDGET_MS = 5_000
const PING_EVERY_MS = 5_000
/** Metrics of a plugin's setup that are kept until its name is known. */
const MOST_EARLY = 1_000
const SILENCE_LIMIT_MS = 15_000
const THREAD_NAME = 'patchbay-isolated'

/**
 * Starts a plugin in a worker of its own. This protects against faults and stalls, not against malice: a thread shares
 * the process's memory limits, files and rights. Arguments must be cloneable; errors cross as code, message and data,
 * aborts as a message.
 */
export function startIsolated(
  plugin: PluginToLoad & { readonly outbound: OutboundRules },
  host: IsolatedPluginHost,
): Promise<IsolatedPlugin> {
  return new WorkerLink(newPluginWorker(), host).start(plugin)
}

/** A worker that waits for the plugin it is to start or check. */
export function newPluginWorker(): Worker {
  const options = { env: {}, name: THREAD_NAME, smol: true } as WorkerOptions
  return startThread(() => new Worker(new URL('./isolate-worker.ts', import.meta.url).href, options))
}

/** Terminates a worker of {@link newPluginWorker}. */
export function endPluginWorker(worker: Worker): void {
  endThread(worker, THREAD_NAME)
}

type Metric = Extract<FromPlugin, { type: 'metric' }>

class WorkerLink {
  readonly #worker: Worker
  readonly #host: IsolatedPluginHost
  readonly #calls = new Map<number, HookCall>()
  #nextId = 1
  #lastHeardMs = performance.now()
  #watchdog: ReturnType<typeof setInterval> | undefined
  #started: { resolve(name: string): void; reject(error: Error): void } | undefined
  #onStopped: (() => void) | undefined
  #name: string | undefined
  readonly #early: Metric[] = []
  #ended = false

  constructor(worker: Worker, host: IsolatedPluginHost) {
    this.#worker = worker
    this.#host = host
    worker.onmessage = (event: MessageEvent<FromPlugin>) => this.#receive(event.data)
    worker.onerror = event => {
      event.preventDefault()
      this.#end(`its worker failed: ${event.message}`)
    }
    // A worker with an unhandled rejection closes with code 0, so every close counts, whatever its code.
    worker.addEventListener('close', () => this.#end('its worker ended'))
  }

  async start(plugin: PluginToLoad & { readonly outbound: OutboundRules }): Promise<IsolatedPlugin> {
    const name = await new Promise<string>((resolve, reject) => {
      this.#started = { resolve, reject }
      this.#post({ type: 'start', ...plugin })
    })
    this.#post({ type: 'ping' })
    this.#watchdog = setInterval(() => this.#watch(), PING_EVERY_MS)
    this.#watchdog.unref?.()
    return { name, stop: () => this.#stop() }
  }

  #watch(): void {
    if (performance.now() - this.#lastHeardMs > SILENCE_LIMIT_MS)
      return this.#end(`it was silent for ${SILENCE_LIMIT_MS / 1000} s`)
    this.#post({ type: 'ping' })
  }

  async #stop(): Promise<void> {
    if (this.#ended) return
    const stopped = new Promise<void>(resolve => {
      this.#onStopped = resolve
    })
    this.#post({ type: 'stop' })
    const limit = setTimeout(() => this.#onStopped?.(), STOP_BUDGET_MS)
    await stopped
    clearTimeout(limit)
    this.#end(undefined)
  }

  #end(why: string | undefined): void {
    if (this.#ended) return
    this.#ended = true
    clearInterval(this.#watchdog)
    endPluginWorker(this.#worker)
    this.#onStopped?.()
    this.#started?.reject(new Error(why ?? 'it was stopped'))
    for (const call of this.#calls.values()) {
      clearTimeout(call.limit)
      call.reject(new HubError('connection_lost', `The plugin cannot answer: ${why ?? 'it was stopped'}`))
    }
    this.#calls.clear()
    if (why !== undefined) this.#host.lost(why)
  }

  #post(message: ToPlugin): void {
    if (!this.#ended) this.#worker.postMessage(message)
  }

  #receive(message: FromPlugin): void {
    this.#lastHeardMs = performance.now()
    switch (message.type) {
      case 'pong':
        return this.#host.heap(message.heapBytes)
      case 'about':
        return this.#host.about(message.about)
      case 'started': {
        const started = this.#started
        this.#started = undefined
        this.#name = message.name
        for (const metric of this.#early.splice(0)) this.#measured(metric)
        return started?.resolve(message.name)
      }
      case 'failed': {
        const started = this.#started
        this.#started = undefined
        started?.reject(failureOf(message))
        return this.#end(undefined)
      }
      case 'stopped':
        return this.#onStopped?.()
      case 'log':
        return this.#host.log[message.level](message.message, message.fields)
      case 'metric':
        return this.#measured(message)
      case 'listen':
        return this.#host.listen(message.name, event =>
          this.#post({ type: 'event', subscription: message.subscription, event }),
        )
      case 'emit':
        return this.#emitted(message)
      case 'contribute':
        return this.#contribute(message)
      case 'answer':
        return this.#answered(message.id, message.value, message.error)
      case 'call':
        void this.#answer(message)
    }
  }

  #emitted({ name, ownerId, data }: Extract<FromPlugin, { type: 'emit' }>): void {
    try {
      this.#host.emit(name, ownerId, data)
    } catch (error) {
      this.#host.log.warn(`An event was not emitted: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  /** A plugin that reports invalid metrics causes a line in the log, and is not ended. */
  #measured(metric: Metric): void {
    // The name under which they are counted is known when setup has ended.
    if (this.#name === undefined) return void (this.#early.length < MOST_EARLY && this.#early.push(metric))
    const { kind, name, value, labels } = metric
    try {
      this.#host.metrics(this.#name)[kind](name, value, labels)
    } catch (error) {
      this.#host.log.warn(`A metric was not counted: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  #contribute(message: Extract<FromPlugin, { type: 'contribute' }>): void {
    const { point, id, data, methods } = message
    if (this.#host.isMainOnly(point)) {
      return this.#end(`it contributes "${id}" to "${point}", which runs in the main thread; set "isolate": false`)
    }
    if (point === 'transport' && methods.includes('child')) {
      return this.#end(
        `transport "${id}" has a function "child", which cannot cross from a worker; set "isolate": false`,
      )
    }
    const proxy: Record<string, unknown> = { ...data }
    for (const method of methods) proxy[method] = (...args: unknown[]) => this.#call(point, id, method, args, data)
    if (point === 'routes') proxy.fetch = (request: Request, actor: unknown) => this.#fetch(id, request, actor)
    try {
      if (String(point) === ROUTE_POINT) this.#route(message)
      else this.#host.contribute(point, id, proxy as unknown as ExtensionPoints[keyof ExtensionPoints])
    } catch (error) {
      this.#end(error instanceof Error ? error.message : String(error))
    }
  }

  #route({ point, id, data }: Extract<FromPlugin, { type: 'contribute' }>): void {
    const described = data as unknown as DescribedRoute
    const handle: OpenRoute['handle'] = (request, signal) =>
      this.#call(point, id, 'handle', [request, signal], data) as Promise<RouteAnswer>
    this.#host.addRoute({ described, handle })
  }

  async #fetch(id: string, request: Request, actor: unknown): Promise<Response> {
    const plain = {
      url: request.url,
      method: request.method,
      headers: [...request.headers],
      body: await request.arrayBuffer(),
    }
    const answer = await this.#call('routes', id, 'fetch', [plain, actor], {})
    const { status, headers, body } = answer as { status: number; headers: [string, string][]; body: ArrayBuffer }
    return new Response(body, { status, headers })
  }

  #call(
    point: keyof ExtensionPoints,
    contribution: string,
    method: string,
    args: readonly unknown[],
    data: Readonly<Record<string, unknown>>,
  ): Promise<unknown> {
    if (this.#ended)
      return Promise.reject(new HubError('connection_lost', `The plugin that offers "${contribution}" has stopped`))
    const id = this.#nextId++
    const usualMs = point === 'logSink' ? SINK_BUDGET_MS : HOOK_BUDGET_MS
    const budgetMs = typeof data.timeoutMs === 'number' ? data.timeoutMs : usualMs
    return new Promise((resolve, reject) => {
      const late = () => {
        this.#calls.delete(id)
        this.#post({ type: 'abort', id })
        reject(new HubError('upstream_timeout', `The plugin took longer than ${budgetMs} ms over "${contribution}"`))
      }
      const call: HookCall = {
        resolve,
        reject,
        budgetMs,
        late,
        limit: setTimeout(late, budgetMs),
        callback: undefined,
        passed: undefined,
      }
      this.#calls.set(id, call)
      this.#post({
        type: 'call',
        id,
        point,
        contribution,
        method,
        args: args.map(arg => this.#encode(id, call, point, arg)),
      })
    })
  }

  #answered(id: number, value: unknown, error: WireError | undefined): void {
    const call = this.#calls.get(id)
    if (!call) return
    this.#calls.delete(id)
    clearTimeout(call.limit)
    if (!error) return call.resolve(takeJson(value))
    // An error thrown by a callback is passed on unchanged: an upstream's error must not become one of the plugin.
    call.reject(call.passed !== undefined && error.data?.passed === true ? call.passed : fromWireError(error))
  }

  #encode(id: number, call: HookCall, point: keyof ExtensionPoints, arg: unknown): unknown {
    if (arg instanceof AbortSignal) {
      arg.addEventListener('abort', () => this.#post({ type: 'abort', id }), { once: true })
      return { $signal: true }
    }
    if (typeof arg === 'function') {
      call.callback = arg as (...args: readonly unknown[]) => unknown
      return { $function: id }
    }
    return point === 'mcpMiddleware' ? carryJson(arg) : arg
  }

  async #answer(message: Extract<FromPlugin, { type: 'call' }>): Promise<void> {
    try {
      this.#post({ type: 'answer', id: message.id, value: await this.#perform(message) })
    } catch (error) {
      this.#post({ type: 'answer', id: message.id, error: carriedError(error) })
    }
  }

  #perform(message: Extract<FromPlugin, { type: 'call' }>): unknown {
    if (message.target === 'next') return this.#callBack(message.args)
    if (message.target === 'host') return this.#host.serve(message.method, message.args)
    const registry = this.#host.registry as unknown as Record<string, (...args: readonly unknown[]) => unknown>
    const method = Object.hasOwn(registry, message.method) ? registry[message.method] : undefined
    if (!method) throw new HubError('internal', `The registry has no "${message.method}"`)
    return method(...message.args)
  }

  /** The time of a callback does not count against the plugin's limit. */
  async #callBack([id, ...args]: readonly unknown[]): Promise<unknown> {
    const call = this.#calls.get(Number(id))
    if (!call?.callback) throw new HubError('upstream_timeout', 'The call that this belongs to has ended')
    clearTimeout(call.limit)
    try {
      return carryJson(await call.callback(...args.map(takeJson)))
    } catch (error) {
      call.passed = error
      const { code, message } = carriedError(error)
      throw new HubError(code, message, { data: { passed: true } })
    } finally {
      if (this.#calls.has(Number(id))) call.limit = setTimeout(call.late, call.budgetMs)
    }
  }
}

function failureOf({ message, stack, errors }: Extract<FromPlugin, { type: 'failed' }>): Error {
  if (errors) return new HubError('validation_failed', message, { errors })
  return Object.assign(new Error(message), stack === undefined ? {} : { stack })
}

/** One call of a hook in progress. */
interface HookCall {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly budgetMs: number
  readonly late: () => void
  limit: ReturnType<typeof setTimeout>
  /** The function among its arguments, such as `next` of a middleware. */
  callback: ((...args: readonly unknown[]) => unknown) | undefined
  /** The error that this function threw. */
  passed: unknown
}
