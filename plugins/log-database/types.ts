/** The types that the store of log records shares with other plugins, as `patchbay/plugins/log-database`. */

import type {} from 'patchbay/contract'

declare module 'patchbay/contract' {
  interface ErrorCodes {
    history_unavailable: never
  }
}
