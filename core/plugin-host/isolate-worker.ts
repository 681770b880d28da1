import { heapStats } from 'bun:jsc'
import { HubError } from '../contract/errors.ts'
import type { Cleanup, PluginContext, PluginDefinition, PluginLogger, RegistryView } from '../contract/plugin.ts'
import type { ExtensionPoints } from '../contract/points.ts'
import { registerPluginModules } from '../transport-kit/module.ts'
import { fromWireError } from '../transport-kit/wire-error.ts'
import { aboutPlugin } from './about.ts'
import { type Admission, type FromPlugin, type OutboundRules, ROUTE_POINT, type ToPlugin } from './isolate-protocol.ts'
import { carryJson, takeJson } from './json-crossing.ts'
import { asDefinition, parsePluginConfig } from './resolve.ts'
import { carriedError } from './services/carried-error.ts'
import { checkDefinition, checkedCleanup } from './services/definition.ts'
import { isolatedServices } from './services/isolated.ts'
import { Jobs } from './services/jobs.ts'
import type { OpenRoute } from './services/routes.ts'

/** The thread of one isolated plugin: runs its setup and carries calls and results over the port. */
class IsolatedRuntime {
  readonly #contributions = new Map<string, Record<string, unknown>>()
  readonly #aborts = new Map<number, AbortController>()
  readonly #pending = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>()
  readonly #listeners = new Map<number, (event: never) => void>()
  readonly #stop = new AbortController()
  #cleanup: Cleanup
  #jobs: Jobs | undefined
  #nextId = 1

  async receive(message: ToPlugin): Promise<void> {
    switch (message.type) {
      case 'ping':
        return post({ type: 'pong', heapBytes: heapStats().heapSize })
      case 'start':
      case 'check':
        return this.#start(message)
      case 'stop':
        return this.#end()
      case 'abort':
        return this.#aborts.get(message.id)?.abort()
      case 'event':
        return this.#listeners.get(message.subscription)?.(message.event as never)
      case 'answer': {
        const pending = this.#pending.get(message.id)
        this.#pending.delete(message.id)
        return message.error ? pending?.reject(fromWireError(message.error)) : pending?.resolve(message.value)
      }
      case 'call':
        return this.#perform(message)
    }
  }

  async #start(message: Extract<ToPlugin, { type: 'start' | 'check' }>): Promise<void> {
    try {
      registerPluginModules()
      const definition = asDefinition(await import(message.file), message.use)
      checkDefinition(definition)
      post({ type: 'about', about: aboutPlugin(definition) })
      if (message.type === 'check') await parsePluginConfig(definition, message.config)
      else await this.#setUp(definition, message.outbound)
      post({ type: 'started', name: definition.name })
    } catch (error) {
      const errors = error instanceof HubError ? error.errors : undefined
      const message = error instanceof Error ? error.message : String(error)
      const stack = error instanceof Error && !errors ? error.stack?.slice(0, 8_000) : undefined
      post({ type: 'failed', message, ...(stack ? { stack } : {}), ...(errors ? { errors } : {}) })
    }
  }

  async #setUp(definition: PluginDefinition<unknown>, outbound: OutboundRules): Promise<void> {
    const admission = (await this.#ask('host', 'admit', [definition.name])) as Admission
    const config = await parsePluginConfig(definition, admission.config)
    const context = await this.#context(config, outbound, { definition, limits: admission.limits })
    this.#cleanup = checkedCleanup(await definition.setup(context))
  }

  /** Ends the plugin in the same order as one in the main thread. */
  async #end(): Promise<void> {
    try {
      await this.#cleanup?.()
    } catch (error) {
      LOG.warn(`The plugin threw while it was stopped: ${error instanceof Error ? error.message : String(error)}`)
    }
    this.#stop.abort()
    await this.#jobs?.ended()
    post({ type: 'stopped' })
  }

  async #context(
    config: unknown,
    outbound: OutboundRules,
    { definition, limits }: { definition: PluginDefinition<unknown>; limits: Admission['limits'] },
  ): Promise<PluginContext<unknown>> {
    const { createGuardedFetch } = await import('../outbound/create.ts')
    this.#jobs = new Jobs(LOG, this.#stop.signal)
    return {
      config,
      fetch: createGuardedFetch({ ...outbound, signal: this.#stop.signal }),
      metrics: {
        count: (name, value = 1, labels = {}) => post({ type: 'metric', kind: 'count', name, value, labels }),
        gauge: (name, value, labels = {}) => post({ type: 'metric', kind: 'gauge', name, value, labels }),
      },
      signal: this.#stop.signal,
      log: LOG,
      registry: new Proxy({} as RegistryView, {
        get:
          (_, method) =>
          (...args: readonly unknown[]) =>
            this.#ask('registry', String(method), args),
      }),
      events: {
        on: (name: string, handler: (event: never) => void) => {
          const subscription = this.#nextId++
          this.#listeners.set(subscription, handler)
          post({ type: 'listen', subscription, name })
        },
        emit: (name, ownerId, data) => post({ type: 'emit', name, ownerId, data }),
      },
      ...isolatedServices({
        ...{ definition, limits, log: LOG, signal: this.#stop.signal, jobs: this.#jobs },
        ask: (method, args) => this.#ask('host', method, args),
        addRoute: route => this.#addRoute(route),
      }),
      contribute: (point, id, contribution) =>
        this.#contribute(point, id, contribution as unknown as Record<string, unknown>),
      contributions: () => new Map(),
    }
  }

  #addRoute({ described, handle }: OpenRoute): void {
    const id = `${described.method} ${described.path}`
    this.#contributions.set(`${ROUTE_POINT}/${id}`, { handle })
    const data = described as unknown as Record<string, unknown>
    post({ type: 'contribute', point: ROUTE_POINT as keyof ExtensionPoints, id, data, methods: ['handle'] })
  }

  #contribute(point: keyof ExtensionPoints, id: string, contribution: Record<string, unknown>): void {
    this.#contributions.set(`${point}/${id}`, contribution)
    const methods = Object.keys(contribution).filter(key => typeof contribution[key] === 'function')
    const data = Object.fromEntries(Object.entries(contribution).filter(([key]) => !methods.includes(key)))
    post({ type: 'contribute', point, id, data, methods })
  }

  async #perform(message: Extract<ToPlugin, { type: 'call' }>): Promise<void> {
    const abort = new AbortController()
    this.#aborts.set(message.id, abort)
    try {
      const contribution = this.#contributions.get(`${message.point}/${message.contribution}`)
      const method = contribution?.[message.method]
      if (typeof method !== 'function') throw new Error(`"${message.contribution}" has no function "${message.method}"`)
      const args = message.args.map(arg => this.#decode(arg, abort.signal))
      const value =
        message.point === 'routes'
          ? await answerRoute(method.bind(contribution), args)
          : await method.apply(contribution, args)
      post({ type: 'answer', id: message.id, value: message.point === 'mcpMiddleware' ? carryJson(value) : value })
    } catch (error) {
      post({ type: 'answer', id: message.id, error: carriedError(error) })
    } finally {
      this.#aborts.delete(message.id)
    }
  }

  #decode(arg: unknown, signal: AbortSignal): unknown {
    if (typeof arg !== 'object' || arg === null) return arg
    if ('$signal' in arg) return signal
    if ('$function' in arg)
      return async (...args: readonly unknown[]) =>
        takeJson(await this.#ask('next', 'next', [arg.$function, ...args.map(carryJson)]))
    return takeJson(arg)
  }

  #ask(target: 'registry' | 'next' | 'host', method: string, args: readonly unknown[]): Promise<unknown> {
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      post({ type: 'call', id, target, method, args })
    })
  }
}

/** Requests and responses cannot be cloned: they are sent as their parts. */
async function answerRoute(
  fetchRoute: (request: Request, actor: unknown) => Promise<Response>,
  args: readonly unknown[],
): Promise<unknown> {
  const plain = args[0] as { url: string; method: string; headers: [string, string][]; body: ArrayBuffer }
  const bodyless = plain.method === 'GET' || plain.method === 'HEAD'
  const request = new Request(plain.url, {
    method: plain.method,
    headers: plain.headers,
    ...(bodyless ? {} : { body: plain.body }),
  })
  const response = await fetchRoute(request, args[1])
  return { status: response.status, headers: [...response.headers], body: await response.arrayBuffer() }
}

function post(message: FromPlugin): void {
  self.postMessage(message)
}

const LOG = Object.fromEntries(
  (['debug', 'info', 'warn', 'error'] as const).map(level => [
    level,
    (message: string, fields?: Readonly<Record<string, unknown>>) =>
      post({ type: 'log', level, message, ...(fields ? { fields } : {}) }),
  ]),
) as unknown as PluginLogger
const runtime = new IsolatedRuntime()
// An unhandled rejection would end this thread with code 0 and no message to main.
process.on('unhandledRejection', error => {
  post({
    type: 'log',
    level: 'error',
    message: `Unhandled rejection in the plugin: ${error instanceof Error ? error.message : String(error)}`,
  })
})
self.onmessage = (event: MessageEvent<ToPlugin>) => {
  void runtime.receive(event.data)
}
