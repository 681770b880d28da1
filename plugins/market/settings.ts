import type { JsonValue } from 'patchbay/contract'
import type { SourceSettings } from './cache.ts'

/** An administrator's settings of the market. */
export interface MarketSettings extends SourceSettings {
  readonly enabled: boolean
  readonly users: 'all' | 'admin'
}

/** The market's settings in those of the hub. */
export function marketSettings(values: Readonly<Record<string, JsonValue>>): MarketSettings {
  const { marketEnabled, marketUsers, marketOffline, marketSourcesOff } = values
  return {
    enabled: marketEnabled !== false,
    users: marketUsers === 'admin' ? 'admin' : 'all',
    offline: marketOffline === true,
    off: Array.isArray(marketSourcesOff) ? marketSourcesOff.filter(id => typeof id === 'string') : [],
  }
}
