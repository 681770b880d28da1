import type { HubConfig } from '../config/schema.ts'
import type { SourceSettings } from './cache.ts'

/** An administrator's settings of the market. */
export interface MarketSettings extends SourceSettings {
  readonly enabled: boolean
  readonly users: 'all' | 'admin'
}

/** Keys of the hub's settings that are read at each request, so that a change takes effect at once. */
export const MARKET_KEYS: ReadonlySet<keyof HubConfig> = new Set([
  ...(['marketEnabled', 'marketUsers', 'marketOffline', 'marketSourcesOff'] as const),
])

/** The part of the hub's settings that is about the market. */
export function marketSettings(config: HubConfig): MarketSettings {
  const { marketEnabled = true, marketUsers = 'all', marketOffline = false, marketSourcesOff = [] } = config
  return { enabled: marketEnabled, users: marketUsers, offline: marketOffline, off: marketSourcesOff }
}
