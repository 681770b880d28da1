import { definePlugin, type PluginContext } from 'patchbay/contract'
import type { LogStore } from 'patchbay/features'
import { ERRORS, logError } from './errors.ts'
import { hubSettings } from './hub-settings.ts'
import { HEALTH_CHECKS, METRICS } from './monitoring.ts'
import type { HistoryAnswer, HistoryMessage } from './protocol.ts'
import { addActivityRoute } from './routes/activity.ts'
import { addAggregationRoutes } from './routes/aggregations.ts'
import { addExportRoute } from './routes/export.ts'
import { addSearchRoutes } from './routes/search.ts'
import { historyOptions, SETTINGS } from './settings.ts'
import { openHistory } from './store.ts'
import type {} from './types.ts'
import { words } from './words.zh.ts'

/** Stores log records and numbers in SQLite or PostgreSQL, and searches them. */
export default definePlugin({
  name: 'log-database',
  contract: 1,
  claims: ['/api/logs/*', '/api/monitoring/activity', '/api/monitoring/export'],
  unavailable: {
    code: 'log_search_unavailable',
    message: 'Log records cannot be searched: no plugin that stores them runs',
  },
  errors: ERRORS,
  words,
  healthChecks: HEALTH_CHECKS,
  metrics: METRICS,
  logComponents: ['history'],
  systemSettings: SETTINGS,
  hubSettings,
  async setup(context) {
    const options = historyOptions(await context.systemSettings(), await context.folder())
    if (!options) {
      offer(context, { for: nothingStored })
      return undefined
    }
    const openThread = () => context.thread<HistoryMessage, HistoryAnswer>(new URL('./thread.ts', import.meta.url).href)
    const { store, state, bytes, behind, end } = openHistory(options, context.log, openThread)
    offer(context, store)
    context.contribute('healthCheck', 'history', { state })
    context.contribute('metric', 'history_bytes', { numbers: bytes })
    context.contribute('metric', 'history_behind_records', { numbers: behind })
    return end
  },
})

/** Adds the store, and what reads it. */
function offer(context: PluginContext<undefined>, store: LogStore): void {
  const { routes, servers, groups, people, registry, sealing } = context
  const deps = { store, servers, groups, people, registry, sealing }
  context.contribute('logStore', 'database', store)
  context.contribute('builtPage', 'logs', { access: 'user' })
  addSearchRoutes(routes, deps)
  addAggregationRoutes(routes, deps)
  addActivityRoute(routes, deps)
  addExportRoute(routes, deps)
}

function nothingStored(): never {
  throw logError('history_unavailable', 'This hub stores no history', { hint: 'Set LOG_DATABASE to true.' })
}
