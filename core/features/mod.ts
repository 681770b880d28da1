/**
 * Types of features that bundled plugins share with the hub, as `patchbay/features`: alerts, assistants, the pages of the
 * console, and the store of log records. They extend the contract by declaration merging, and are types alone.
 */

export type * from './alerts.ts'
export type * from './bridge.ts'
export type * from './console.ts'
export type * from './log-store.ts'
