import type { HubSettingKinds } from 'patchbay/features'

/** Settings of stored records among those of the hub, besides those of `logging.database` that are the hub's own. */
export const hubSettings = {
  /** Size of all stored records together, in bytes. */
  historyMaxBytes: {
    variable: 'HISTORY_MAX_SIZE',
    takes: { type: 'bytes' },
    default: 2 * 1024 ** 3,
    member: { section: 'logging.database', name: 'maxSize' },
  },
} as const satisfies HubSettingKinds
