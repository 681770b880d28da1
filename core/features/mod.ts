/**
 * Types beyond those that every plugin uses, as `patchbay/features`: services of the main thread, and the points and records of
 * single features, such as alerts, assistants, calls, credentials, imports, logs, pages, sign-ins, tools and traces. They extend the
 * contract by declaration merging, and are types alone.
 */

export type * from './alerts.ts'
export type * from './bridge.ts'
export type * from './call-records.ts'
export type * from './calls.ts'
export type * from './clients.ts'
export type * from './console.ts'
export type * from './credentials.ts'
export type * from './group-names.ts'
export type * from './hub-services.ts'
export type * from './imports.ts'
export type * from './log-records.ts'
export type * from './log-sinks.ts'
export type * from './log-store.ts'
export type * from './main-thread.ts'
export type * from './owned-records.ts'
export type * from './pages.ts'
export type * from './plans.ts'
export type * from './programs.ts'
export type * from './ranking.ts'
export type * from './sealing.ts'
export type * from './sign-ins.ts'
export type * from './sockets.ts'
export type * from './templates.ts'
export type * from './tools.ts'
export type * from './tracing.ts'
