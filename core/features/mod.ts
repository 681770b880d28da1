/**
 * Types of features that bundled plugins share with the hub, as `patchbay/features`: alerts, assistants, clients and imports,
 * credentials, filters of content, sign-ins, traces, ranking of tools, the store of log records, and the pages of the console. They extend the contract
 * by declaration merging, and are types alone.
 */

export type * from './alerts.ts'
export type * from './bridge.ts'
export type * from './clients.ts'
export type * from './console.ts'
export type * from './credentials.ts'
export type * from './filters.ts'
export type * from './imports.ts'
export type * from './log-store.ts'
export type * from './ranking.ts'
export type * from './sign-ins.ts'
export type * from './tracing.ts'
