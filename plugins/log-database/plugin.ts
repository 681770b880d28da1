import { definePlugin } from 'patchbay/contract'
import { ERRORS, logError } from './errors.ts'
import type { HistoryAnswer, HistoryMessage } from './protocol.ts'
import { historyOptions, SETTINGS } from './settings.ts'
import { openHistory } from './store.ts'
import type {} from './types.ts'
import { words } from './words.zh.ts'

/** Stores log records and numbers in SQLite or PostgreSQL, and searches them. */
export default definePlugin({
  name: 'log-database',
  contract: 1,
  errors: ERRORS,
  words,
  systemSettings: SETTINGS,
  async setup(context) {
    const options = historyOptions(await context.systemSettings(), await context.folder())
    if (!options) {
      context.contribute('logStore', 'database', { for: nothingStored })
      return undefined
    }
    const openThread = () => context.thread<HistoryMessage, HistoryAnswer>(new URL('./thread.ts', import.meta.url).href)
    const { store, end } = openHistory(options, context.log, openThread)
    context.contribute('logStore', 'database', store)
    return end
  },
})

function nothingStored(): never {
  throw logError('history_unavailable', 'This hub stores no history', { hint: 'Set LOG_DATABASE to true.' })
}
