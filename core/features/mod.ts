/**
 * Types of features that bundled plugins share with the hub, as `patchbay/features`: alerts, assistants, and the pages of the
 * console. They extend the contract by declaration merging, and are types alone.
 */

export type * from './alerts.ts'
export type * from './bridge.ts'
export type * from './console.ts'
