/**
 * Types of features that bundled plugins share with the hub, as `patchbay/features`: alerts, assistants, calls, clients and imports,
 * credentials, sign-ins, names of groups, tools of plugins and their ranking, stored programs, templates of servers, traces, the store
 * of log records, and the pages of the console. They extend the contract by declaration merging, and are types alone.
 */

export type * from './alerts.ts'
export type * from './bridge.ts'
export type * from './calls.ts'
export type * from './clients.ts'
export type * from './console.ts'
export type * from './credentials.ts'
export type * from './group-names.ts'
export type * from './imports.ts'
export type * from './log-store.ts'
export type * from './programs.ts'
export type * from './ranking.ts'
export type * from './sign-ins.ts'
export type * from './templates.ts'
export type * from './tools.ts'
export type * from './tracing.ts'
