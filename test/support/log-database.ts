import type { PluginLogger } from '../../core/contract/plugin.ts'
import { Threads } from '../../core/plugin-host/services/thread.ts'
import { History, type Thread } from '../../plugins/log-database/client.ts'
import type { HistoryOptions } from '../../plugins/log-database/protocol.ts'

const MODULE = new URL('../../plugins/log-database/thread.ts', import.meta.url).href

/** The store of log records without a hub, with a thread as the hub gives it one. Close it at the end. */
export function openHistory(options: HistoryOptions, log: PluginLogger, answerSeconds?: number): History {
  const threads = new Threads(new AbortController().signal, 'log-database')
  return new History(options, log, () => threads.open(MODULE) as Thread, answerSeconds)
}
