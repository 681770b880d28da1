import type { FieldError } from '../contract/errors.ts'
import type { ExtensionPoints } from '../contract/points.ts'
import type { GuardedFetchOptions } from '../outbound/create.ts'
import type { WireError } from '../transport-kit/wire-error.ts'
import type { PluginAbout } from './about.ts'

/** The addresses that a plugin's own requests may reach. */
export type OutboundRules = Pick<GuardedFetchOptions, 'rights' | 'instanceId'>

/** The plugin to load, with its block of the settings. */
export interface PluginToLoad {
  readonly file: string
  readonly use: string
  readonly config: unknown
}

/** The point under which routes with schemas cross, which is none of the contract's. */
export const ROUTE_POINT = '$route'

/** The values that main gives an isolated plugin once its module is loaded. */
export interface Admission {
  readonly config: unknown
  readonly limits: Readonly<Record<string, number>>
}

/** A message from main to an isolated plugin's worker. */
export type ToPlugin =
  | ({ readonly type: 'start'; readonly outbound: OutboundRules } & PluginToLoad)
  /** Only checks the configuration; answered like `start`. */
  | ({ readonly type: 'check' } & PluginToLoad)
  | { readonly type: 'stop' }
  | { readonly type: 'ping' }
  | {
      readonly type: 'call'
      readonly id: number
      readonly point: keyof ExtensionPoints
      readonly contribution: string
      readonly method: string
      readonly args: readonly unknown[]
    }
  | { readonly type: 'abort'; readonly id: number }
  | { readonly type: 'answer'; readonly id: number; readonly value?: unknown; readonly error?: WireError }
  | { readonly type: 'event'; readonly subscription: number; readonly event: unknown }

/** A message from the worker to main. `call` is used for registry look-ups, for `next` of a middleware, and for services of the hub. */
export type FromPlugin =
  /** The module is loaded; before anything else. */
  | { readonly type: 'about'; readonly about: PluginAbout }
  | { readonly type: 'started'; readonly name: string }
  /** `errors`: the fields for which the configuration was rejected. */
  | {
      readonly type: 'failed'
      readonly message: string
      readonly stack?: string
      readonly errors?: readonly FieldError[]
    }
  | { readonly type: 'stopped' }
  | { readonly type: 'pong'; readonly heapBytes: number }
  | {
      readonly type: 'contribute'
      readonly point: keyof ExtensionPoints
      readonly id: string
      readonly data: Readonly<Record<string, unknown>>
      readonly methods: readonly string[]
    }
  | { readonly type: 'listen'; readonly subscription: number; readonly name: string }
  | { readonly type: 'emit'; readonly name: string; readonly ownerId: string | null; readonly data: unknown }
  | {
      readonly type: 'log'
      readonly level: 'debug' | 'info' | 'warn' | 'error'
      readonly message: string
      readonly fields?: Readonly<Record<string, unknown>>
    }
  | {
      readonly type: 'metric'
      readonly kind: 'count' | 'gauge'
      readonly name: string
      readonly value: number
      readonly labels: Readonly<Record<string, string>>
    }
  | { readonly type: 'answer'; readonly id: number; readonly value?: unknown; readonly error?: WireError }
  | {
      readonly type: 'call'
      readonly id: number
      readonly target: 'registry' | 'next' | 'host'
      readonly method: string
      readonly args: readonly unknown[]
    }
