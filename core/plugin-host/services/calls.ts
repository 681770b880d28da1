import type { PluginLogger } from '../../contract/plugin.ts'
import { nextTurn } from '../../domain/next-turn.ts'
import type { CallFeed, CallQuery, FinishedCall, PluginCalls } from '../../features/calls.ts'
import type { CallBatch, CallQueues } from '../../telemetry/calls/call-queue.ts'

/** The calls of the hub, as the services of plugins read them. */
export interface HubCalls {
  readonly queues: Pick<CallQueues, 'open'>
  stats(query: CallQuery): ReturnType<PluginCalls['stats']>
}

/** Longest time in milliseconds for which handlers in the main thread run without a break. */
const HELD_MS = 4

/** The calls for one plugin, wherever it runs. */
export interface CallSource {
  /** Resolves with the calls that came since the last time; undefined when the plugin stops. */
  next(): Promise<CallBatch | undefined>
  readonly stats: PluginCalls['stats']
  readonly log: Pick<PluginLogger, 'error'>
  readonly signal: AbortSignal
}

/** The service `calls`. Calls are taken from the source while there is a handler. */
export function pluginCalls({ next, stats, log, signal }: CallSource): PluginCalls {
  const handlers: Handler[] = []
  const run = async (): Promise<void> => {
    for (let batch = await next(); batch && !signal.aborted; batch = await next()) {
      for (const each of handlers) each.lost = batch.lost - each.before
      await handled(batch.calls)
    }
  }
  const passOn = async (call: FinishedCall, { handler }: Handler): Promise<void> => {
    if (signal.aborted) return
    try {
      await handler(call)
    } catch (error) {
      log.error(`A handler of calls failed: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const handled = async (calls: readonly FinishedCall[]): Promise<void> => {
    let since = performance.now()
    for (const call of calls) {
      for (const each of handlers) await passOn(call, each)
      if (performance.now() - since < HELD_MS) continue
      await nextTurn()
      since = performance.now()
    }
  }
  return {
    on(handler): CallFeed {
      const added: Handler = { handler, lost: 0, before: handlers[0] ? handlers[0].before + handlers[0].lost : 0 }
      handlers.push(added)
      if (handlers.length === 1) run().catch(error => signal.aborted || log.error(`Calls cannot be followed: ${error}`))
      return added
    },
    stats,
  }
}

interface Handler {
  readonly handler: (call: FinishedCall) => void | Promise<void>
  /** Calls that were lost before it was added. */
  readonly before: number
  lost: number
}

/** The calls of a plugin: a queue that begins when it is first read, and ends with `undo`. */
export function callSource(hub: () => { readonly calls: HubCalls }, undo: (work: () => void) => void) {
  let open: ReturnType<CallQueues['open']> | undefined
  return {
    next: (): Promise<CallBatch | undefined> => {
      if (!open) {
        // It closes the queue that is opened next, and throws for a plugin that has ended.
        undo(() => open?.close())
        open = hub().calls.queues.open()
      }
      return open.queue.next()
    },
    stats: (query: CallQuery) => hub().calls.stats(query),
  }
}
