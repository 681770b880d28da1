import type { HubSettingKinds } from 'patchbay/features'

/** The settings of the market among those of the hub. */
export const hubSettings = {
  marketEnabled: { variable: 'MARKET_ENABLED', takes: { type: 'boolean' }, default: true, live: true },
  /** Users who may use the market. */
  marketUsers: {
    variable: 'MARKET_USERS',
    takes: { type: 'choice', words: ['all', 'admin'] },
    default: 'all',
    live: true,
  },
  /** True to skip sources that need the network. */
  marketOffline: { variable: 'MARKET_OFFLINE', takes: { type: 'boolean' }, default: false, live: true },
  /** Ids of sources that are switched off. */
  marketSourcesOff: {
    variable: 'MARKET_SOURCES_OFF',
    takes: {
      type: 'list',
      pattern: /^[a-z0-9][a-z0-9-]{0,63}$/,
      wanted: 'ids of sources: lower-case letters, digits and dashes',
      mostCharacters: 64,
    },
    default: [],
    live: true,
  },
} as const satisfies HubSettingKinds
