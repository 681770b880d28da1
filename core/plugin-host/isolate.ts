import { fromWireError, HubError, toWireError } from '../contract/errors.ts'
import type { PluginLogger, RegistryView } from '../contract/plugin.ts'
import { type ExtensionPoints, MAIN_ONLY_POINTS } from '../contract/points.ts'
import type { FromPlugin, ToPlugin } from './isolate-protocol.ts'

/** Longest an isolated plugin may take over one hook, in milliseconds, unless the hook names its own limit. */
const HOOK_BUDGET_MS = 2_000
const PING_EVERY_MS = 5_000
const SILENCE_LIMIT_MS = 15_000

export interface IsolatedPlugin {
  readonly name: string
  stop(): Promise<void>
}

export interface IsolatedPluginHost {
  readonly log: PluginLogger
  readonly registry: RegistryView
  contribute(point: keyof ExtensionPoints, id: string, contribution: ExtensionPoints[keyof ExtensionPoints]): void
  listen(name: string, handler: (event: unknown) => void): void
  /** The worker ended by itself or was ended for its silence: what it contributed must go. */
  lost(message: string): void
}

/**
 * Starts a plugin in a worker of its own. A border against faults and stalls, not against malice: a thread shares the
 * process's memory limits, files and rights. What crosses is cloneable; errors cross as code, message and data, aborts
 * as a message.
 */
export function startIsolated(
  plugin: { readonly use: string; readonly file: string; readonly config: unknown },
  host: IsolatedPluginHost,
): Promise<IsolatedPlugin> {
  const worker = new Worker(new URL('./isolate-worker.ts', import.meta.url).href, {
    env: {},
    smol: true,
  } as WorkerOptions)
  const link = new WorkerLink(worker, host)
  return link.start(plugin)
}

class WorkerLink {
  readonly #worker: Worker
  readonly #host: IsolatedPluginHost
  readonly #pending = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>()
  readonly #functions = new Map<number, (...args: readonly unknown[]) => unknown>()
  #nextId = 1
  #lastHeardMs = performance.now()
  #watchdog: ReturnType<typeof setInterval> | undefined
  #started: { resolve(name: string): void; reject(error: Error): void } | undefined
  #onStopped: (() => void) | undefined
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

  async start(plugin: {
    readonly use: string
    readonly file: string
    readonly config: unknown
  }): Promise<IsolatedPlugin> {
    const name = await new Promise<string>((resolve, reject) => {
      this.#started = { resolve, reject }
      this.#post({ type: 'start', ...plugin })
    })
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
    const limit = setTimeout(() => this.#onStopped?.(), HOOK_BUDGET_MS)
    await stopped
    clearTimeout(limit)
    this.#end(undefined)
  }

  #end(why: string | undefined): void {
    if (this.#ended) return
    this.#ended = true
    clearInterval(this.#watchdog)
    this.#worker.terminate()
    this.#onStopped?.()
    this.#started?.reject(new Error(why ?? 'it was stopped'))
    for (const { reject } of this.#pending.values())
      reject(new HubError('connection_lost', `The plugin cannot answer: ${why ?? 'it was stopped'}`))
    this.#pending.clear()
    if (why !== undefined) this.#host.lost(why)
  }

  #post(message: ToPlugin): void {
    if (!this.#ended) this.#worker.postMessage(message)
  }

  #receive(message: FromPlugin): void {
    this.#lastHeardMs = performance.now()
    switch (message.type) {
      case 'pong':
        return
      case 'started': {
        const started = this.#started
        this.#started = undefined
        return started?.resolve(message.name)
      }
      case 'failed': {
        const started = this.#started
        this.#started = undefined
        started?.reject(new Error(message.message))
        return this.#end(undefined)
      }
      case 'stopped':
        return this.#onStopped?.()
      case 'log':
        return this.#host.log[message.level](message.message, message.fields)
      case 'listen':
        return this.#host.listen(message.name, event =>
          this.#post({ type: 'event', subscription: message.subscription, event }),
        )
      case 'contribute':
        return this.#contribute(message)
      case 'answer': {
        const pending = this.#pending.get(message.id)
        this.#pending.delete(message.id)
        return message.error ? pending?.reject(fromWireError(message.error)) : pending?.resolve(message.value)
      }
      case 'call':
        void this.#answer(message)
    }
  }

  #contribute(message: Extract<FromPlugin, { type: 'contribute' }>): void {
    const { point, id, data, methods } = message
    if ((MAIN_ONLY_POINTS as readonly string[]).includes(point)) {
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
    this.#host.contribute(point, id, proxy as unknown as ExtensionPoints[keyof ExtensionPoints])
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
    const budgetMs = typeof data.timeoutMs === 'number' ? data.timeoutMs : HOOK_BUDGET_MS
    const crossing = args.map(arg => this.#encode(id, arg))
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => {
        this.#pending.delete(id)
        this.#functions.delete(id)
        this.#post({ type: 'abort', id })
        reject(new HubError('upstream_timeout', `The plugin took longer than ${budgetMs} ms over "${contribution}"`))
      }, budgetMs)
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T) => {
          clearTimeout(limit)
          this.#functions.delete(id)
          then(value)
        }
      this.#pending.set(id, { resolve: settle(resolve), reject: settle(reject) })
      this.#post({ type: 'call', id, point, contribution, method, args: crossing })
    })
  }

  #encode(id: number, arg: unknown): unknown {
    if (arg instanceof AbortSignal) {
      arg.addEventListener('abort', () => this.#post({ type: 'abort', id }), { once: true })
      return { $signal: true }
    }
    if (typeof arg === 'function') {
      this.#functions.set(id, arg as (...args: readonly unknown[]) => unknown)
      return { $function: id }
    }
    return arg
  }

  async #answer(message: Extract<FromPlugin, { type: 'call' }>): Promise<void> {
    try {
      this.#post({ type: 'answer', id: message.id, value: await this.#perform(message) })
    } catch (error) {
      this.#post({ type: 'answer', id: message.id, error: toWireError(error) })
    }
  }

  #perform(message: Extract<FromPlugin, { type: 'call' }>): unknown {
    if (message.target === 'next') {
      const [id, ...args] = message.args
      const next = this.#functions.get(Number(id))
      if (!next) throw new HubError('upstream_timeout', 'The call that this belongs to has ended')
      return next(...args)
    }
    const registry = this.#host.registry as unknown as Record<string, (...args: readonly unknown[]) => unknown>
    const method = Object.hasOwn(registry, message.method) ? registry[message.method] : undefined
    if (!method) throw new HubError('internal', `The registry has no "${message.method}"`)
    return method(...message.args)
  }
}
