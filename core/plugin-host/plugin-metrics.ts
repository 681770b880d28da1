import { LIMITS } from '../config/limits.ts'
import type { PluginMetrics } from '../contract/plugin.ts'
import { visibleName } from '../domain/text/visible-text.ts'
import { type CustomMetrics, type CustomUpdate, METRIC_NAME, TAKEN_LABELS } from '../telemetry/custom-metrics.ts'

/** The metrics of one plugin, which is their owner. */
export function pluginMetrics(plugin: string, custom: Pick<CustomMetrics, 'add'>): PluginMetrics {
  const add = (update: CustomUpdate): void => custom.add(`plugin:${plugin}`, [checked(update)])
  return {
    count: (name, by = 1, labels = {}) => add({ name, kind: 'counter', value: by, labels }),
    gauge: (name, value, labels = {}) => add({ name, kind: 'gauge', value, labels }),
  }
}

/** Throws TypeError. */
function checked({ name, kind, value, labels }: CustomUpdate): CustomUpdate {
  const names = Object.keys(labels)
  if (![name, ...names].every(each => METRIC_NAME.test(each)))
    throw new TypeError(`Metric "${name}": names are lower-case letters, digits and "_", at most 64`)
  if (names.length > LIMITS.customMetricLabels || names.some(each => TAKEN_LABELS.includes(each)))
    throw new TypeError(`Metric "${name}": at most ${LIMITS.customMetricLabels} labels, none of them "owner" or "name"`)
  if (!Object.values(labels).every(text => typeof text === 'string' && text.length <= 128))
    throw new TypeError(`Metric "${name}": values of labels are texts of at most 128 characters`)
  if (!Number.isFinite(value) || (kind === 'counter' && value < 0))
    throw new TypeError(`Metric "${name}": the value is no finite number, or negative for a counter`)
  const shown = Object.entries(labels).map(([label, text]) => [label, visibleName(text)])
  return { name, kind, value, labels: Object.fromEntries(shown) }
}
