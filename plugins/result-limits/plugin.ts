import { definePlugin } from 'patchbay/contract'
import type {} from 'patchbay/features'
import { READ_RESULT_ITEM } from './read-result.ts'
import { ResultBudget } from './result-budget.ts'
import { KEPT_LIMITS, type KeptLimits } from './result-store.ts'

/** Interval in which expired results are dropped while there are any, in milliseconds. */
const SWEEP_MS = 30_000

/**
 * Truncates the results of groups with a `resultLimit`, and adds the tool that reads the omitted part. Core detects long results
 * by counting their bytes without parsing.
 */
export default definePlugin({
  name: 'result-limits',
  contract: 1,
  limits: KEPT_LIMITS,
  setup(context) {
    const results = new ResultBudget(context.limits as KeptLimits, () => performance.now())
    let sweeping: ReturnType<typeof setTimeout> | undefined
    const sweepLater = () => {
      sweeping ??= setTimeout(() => {
        sweeping = undefined
        if (!results.sweep()) sweepLater()
      }, SWEEP_MS)
    }
    context.contribute('tools', 'result-limits', {
      applies: ({ group }) => (group.resultLimitBytes === undefined ? undefined : 'beside'),
      tools: () => [READ_RESULT_ITEM],
      async call(call, scope) {
        return { result: results.read(call.arguments.handle, scope.group.resultLimitBytes ?? 0, scope) }
      },
      shorten(result, source, maxBytes, scope) {
        sweepLater()
        const shown = results.truncate(result, source, maxBytes, scope)
        if (shown) context.metrics.count('shortened_results')
        return shown
      },
    })
    context.contribute('limitUse', 'result-limits', {
      of: async ({ userId }) => ({ keptResultBytesPerUser: results.bytesOf(userId) }),
    })
    return () => clearTimeout(sweeping)
  },
})
