import { z } from 'zod'
import { isAmount, type KnownSettings, OWN_SETTINGS } from '../../../config/known-settings.ts'
import type { WrittenAmounts } from '../../../config/layers.ts'
import type { ValueType } from '../../../config/parsers.ts'
import type { ConfigSource, HubConfig } from '../../../config/schema.ts'
import { VARIABLES } from '../../../config/variables.ts'
import { type FieldError, HubError } from '../../../contract/errors.ts'
import type { JsonValue } from '../../../contract/json.ts'
import { durationText } from '../../../domain/duration.ts'
import { exactSize } from '../../../domain/size.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { HubSettingValue } from '../../../features/services/hub-settings.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { anyJson } from '../schemas.ts'
import { etag, writeOptions } from '../views.ts'

/** The configuration in effect, and the layer of each value. */
export interface ConfigView {
  readonly values: HubConfig
  readonly sources: Readonly<Partial<Record<string, ConfigSource>>>
  /** Sizes and durations in effect as they were written. */
  readonly written?: WrittenAmounts
  /** Keys that take effect without a restart. */
  readonly live?: ReadonlySet<string>
  /** All settings. Default: those of the hub itself. */
  readonly settings?: KnownSettings
}

/** All settings of the hub. */
export function settingsOf({ settings = OWN_SETTINGS }: ConfigView): KnownSettings {
  return settings
}

function valueIn({ values }: ConfigView, key: string): unknown {
  return Object.entries(values).find(([each]) => each === key)?.[1]
}

function parserOf(config: ConfigView, key: string) {
  return settingsOf(config).variables.find(variable => variable.key === key)?.parse
}

/** Dependencies of the routes of the system settings. */
export interface SystemSettingsDeps {
  readonly registry: Pick<Registry, 'settings' | 'audit'>
  readonly config: ConfigView
}

/** A number, or a text with a unit such as 100MB or 30d. */
const anyAmount = z.union([z.number().min(1), z.string().max(32)])
const amount = anyAmount.nullable().optional()
const texts = z.array(z.string().max(253)).max(100).nullable().optional()

/** Settings of the hub that the API may change: not needed before the store is open, and not secret. */
const own = z.strictObject({
  publicUrl: z.string().max(2048).nullable().optional(),
  allowedHosts: texts,
  allowedOrigins: texts,
  adminAddresses: texts,
  trustedProxies: texts,
  stdioPolicy: z.enum(['sandboxed', 'admin', 'off']).nullable().optional(),
  outboundAllow: texts,
  startTimeoutMs: amount,
  workers: z.number().int().min(1).max(64).nullable().optional(),
  logLevel: z.enum(['error', 'warn', 'info', 'debug', 'trace']).nullable().optional(),
  logFormat: z.enum(['json', 'pretty']).nullable().optional(),
  requestLogs: z.boolean().nullable().optional(),
  logRotation: z.enum(['hourly', 'daily', 'weekly', 'none']).nullable().optional(),
  logCompress: z.boolean().nullable().optional(),
  logMaxFiles: z.number().int().min(1).max(10_000).nullable().optional(),
  logMaxSizeBytes: amount,
  logDatabase: z.boolean().nullable().optional(),
  logRetentionMs: amount,
  logTable: z.string().max(63).nullable().optional(),
  logIndexes: texts,
})

/** A key of the hub's own settings that the API may change. */
export type Key = keyof z.output<typeof own>

/** The settings that the API may change, those of plugins included. */
function changeable({ ofPlugins }: KnownSettings) {
  const theirs = Object.entries(ofPlugins).map(
    ([key, { takes }]) => [key, valueSchema(takes).nullable().optional()] as const,
  )
  return own.extend(Object.fromEntries(theirs))
}

/** The schema of a value; an amount is also a text. */
export function valueSchema(takes: HubSettingValue): z.ZodType<JsonValue> {
  switch (takes.type) {
    case 'boolean':
      return z.boolean()
    case 'choice':
      return z.enum(takes.words)
    case 'list':
      return z.array(z.string().max(takes.mostCharacters)).max(100)
    case 'bytes':
      return anyAmount
  }
}

function keysOf({ ofPlugins }: KnownSettings): readonly string[] {
  return [...Object.keys(own.shape), ...Object.keys(ofPlugins)]
}

/** Shown but not changeable: set by environment and file only, mostly needed before the store is open. */
const FIXED = VARIABLES.filter(({ key, secret }) => !secret && key !== 'adminUsername' && !(key in own.shape)).map(
  ({ key }) => key,
)

const values = z.record(z.string(), anyJson)
const exampleValues = {
  port: 3000,
  host: '127.0.0.1',
  stdioPolicy: 'sandboxed',
  logLevel: 'info',
  allowedHosts: ['localhost'],
}

const sourceSchema = z.record(
  z.string(),
  z.object({
    source: z.enum(['default', 'file', 'env', 'store']),
    variable: z.string(),
    locked: z.boolean().meta({ description: 'A PATCH of it is refused' }),
    restart: z.boolean().meta({ description: 'A change takes effect at the next start' }),
    pending: z.boolean().meta({ description: 'A change waits for the next start' }),
    type: z.enum(['boolean', 'choice', 'list', 'number', 'bytes', 'duration', 'text']),
    choices: z
      .array(z.string())
      .optional()
      .meta({ description: 'The words of a choice, or those that a list may hold' }),
    text: z.string().optional().meta({ description: 'The value as the variable would have it: 100MB, 30d, a,b' }),
  }),
)
const exampleSources = {
  logLevel: {
    ...{ source: 'env', variable: 'LOG_LEVEL', locked: true, restart: true, pending: false },
    ...{ type: 'choice', choices: ['error', 'warn', 'info', 'debug', 'trace'], text: 'info' },
  },
}

/** System settings with the precedence environment, file, store, default. */
export function systemSettingsRoutes({ registry, config }: SystemSettingsDeps): Route[] {
  const common = { path: '/api/admin/settings', tag: 'administration' } as const
  const responses = { 200: { description: 'Value by key', schema: values, example: exampleValues } }
  return [
    route({
      ...common,
      access: 'admin',
      method: 'GET',
      summary: 'System settings, as they are from the next start at the latest',
      responses,
      async handle() {
        return systemReply(config, registry)
      },
    }),
    route({
      ...common,
      access: 'admin',
      method: 'PATCH',
      summary:
        'Change system settings; null goes back to the default. With If-Match only where nobody changed them since',
      body: changeable(settingsOf(config)),
      responses,
      async handle({ actor, body, info, request }) {
        const changes = readSettings(config, given(body))
        refuseLocked(config, Object.keys(changes))
        await registry.settings.setSystem(actor, changes, writeOptions(request.headers))
        const detail = { keys: Object.keys(changes) }
        registry.audit.record(actor, {
          action: 'settings.update',
          target: 'system',
          ownerId: null,
          request: info,
          detail,
        })
        return systemReply(config, registry)
      },
    }),
    route({
      ...common,
      access: 'admin',
      path: '/api/admin/settings/sources',
      method: 'GET',
      summary: 'Where each system setting comes from, and which need a restart',
      responses: { 200: { description: 'By key', schema: sourceSchema, example: exampleSources } },
      async handle() {
        return { body: settingSources(config, await registry.settings.allSystem()) }
      },
    }),
  ]
}

/** The settings with the number of their changes as entity tag. Read first, so that a change in between is noticed. */
async function systemReply(config: ConfigView, { settings }: Pick<Registry, 'settings'>) {
  const revision = await settings.systemRevision()
  return { body: systemSettings(config, await settings.allSystem()), headers: { etag: etag(revision) } }
}

type Stored = Readonly<Record<string, JsonValue>>

function locked(config: ConfigView, key: string): boolean {
  const source = config.sources[key]
  return source === 'env' || source === 'file'
}

/** Stored settings with their sizes and durations as numbers; one that is not valid is left out, as at the start. */
function readStored(config: ConfigView, stored: Stored): Stored {
  const entries = Object.entries(stored).flatMap(([key, value]): [string, JsonValue][] => {
    if (!isAmount(key, settingsOf(config))) return [[key, value]]
    const parsed = parsedSetting(config, key, value)
    return parsed?.ok ? [[key, parsed.value as JsonValue]] : []
  })
  return Object.fromEntries(entries)
}

function parsedSetting(config: ConfigView, key: string, value: JsonValue) {
  return parserOf(config, key)?.(settingText(value))
}

/** Returns a size or duration as it was written; if it was not set, the default as a text. */
export function writtenAmount(config: ConfigView, stored: Stored, key: string): JsonValue {
  const written = locked(config, key) ? config.written?.[key] : (stored[key] ?? config.written?.[key])
  const { type = 'text' } = parserOf(config, key) ?? {}
  const value = valueIn(config, key)
  return written ?? (typeof value === 'number' ? (NUMBERS[type]?.(value) ?? value) : null)
}

/** A stored value applies unless environment or file sets the key. */
export function systemSettings(config: ConfigView, given: Stored): Readonly<Partial<Record<string, unknown>>> {
  const stored = readStored(config, given)
  const fixed = FIXED.map(key => [key, valueIn(config, key)] as const)
  const changeables = keysOf(settingsOf(config)).map(
    key => [key, locked(config, key) ? valueIn(config, key) : (stored[key] ?? valueIn(config, key))] as const,
  )
  return Object.fromEntries([...fixed, ...changeables].filter(([, value]) => value !== undefined))
}

/** Returns for each setting: its source, whether it is locked, needs a restart, and waits for one, and its written form. */
export function settingSources(config: ConfigView, given: Stored): object {
  const stored = readStored(config, given)
  const settings = settingsOf(config)
  const fixed = FIXED.map(key => {
    const shown = written(config, key, valueIn(config, key))
    return [key, { ...origin(config, key), locked: true, restart: true, pending: false, ...shown }] as const
  })
  const changeables = keysOf(settings).map(key => {
    const held = locked(config, key)
    const restart = !config.live?.has(key)
    const pending = restart && !held && waits(config, key, stored)
    const value = held ? valueIn(config, key) : (stored[key] ?? valueIn(config, key))
    const amountText = isAmount(key, settings) ? writtenAmount(config, given, key) : null
    const text = amountText === null ? {} : { text: String(amountText) }
    const shown = written(config, key, value)
    return [key, { ...origin(config, key), locked: held, restart, pending, ...shown, ...text }] as const
  })
  return Object.fromEntries([...fixed, ...changeables])
}

function origin(config: ConfigView, key: string): { readonly source: ConfigSource; readonly variable: string } {
  return { source: config.sources[key] ?? 'default', variable: variableOf(config, key) }
}

/** Returns the type of a setting's value, and its text in the variable's form. */
function written(config: ConfigView, key: string, value: unknown): object {
  const { type = 'text', choices } = parserOf(config, key) ?? {}
  const text = typeof value === 'number' ? NUMBERS[type]?.(value) : undefined
  return {
    type,
    ...(choices && { choices }),
    ...(value !== undefined && { text: text ?? settingText(value as JsonValue) }),
  }
}

const NUMBERS: Readonly<Partial<Record<ValueType, (value: number) => string>>> = {
  bytes: exactSize,
  duration: durationText,
}

/** True when the store differs from the values at the start: another value, or a removed one. */
function waits(config: ConfigView, key: string, stored: Stored): boolean {
  const value = stored[key]
  if (value === undefined) return config.sources[key] === 'store'
  return JSON.stringify(value) !== JSON.stringify(valueIn(config, key))
}

function variableOf(config: ConfigView, key: string): string {
  return settingsOf(config).variables.find(variable => variable.key === key)?.name ?? key
}

/**
 * Parses values like environment variables, so that a stored value is valid at the next start: an invalid one would prevent it.
 * Null stays null, and sizes and durations stay in their written form. Throws `validation_failed` with each invalid one, at
 * `pointerOf` its key.
 */
export function readSettings(
  config: ConfigView,
  body: Readonly<Record<string, JsonValue>>,
  pointerOf = (key: string): string => `#/${key}`,
): Record<string, JsonValue> {
  const errors: FieldError[] = []
  const read = Object.entries(body).map(([key, value]): [string, JsonValue] => {
    const parsed = value === null ? undefined : parsedSetting(config, key, value)
    if (parsed?.ok === false) {
      const pointer = pointerOf(key)
      const name = pointer.slice(pointer.lastIndexOf('/') + 1)
      errors.push({ pointer, code: 'format', detail: `"${name}" is not valid; wanted: ${parsed.legal}` })
    }
    return [key, parsed?.ok && !isAmount(key, settingsOf(config)) ? (parsed.value as JsonValue) : value]
  })
  if (errors.length > 0) throw validationError(errors, 'These settings cannot be kept')
  return Object.fromEntries(read)
}

function settingText(value: JsonValue): string {
  return Array.isArray(value) ? value.join(',') : String(value)
}

/** Throws `setting_locked` with each locked key and the layer that sets it. */
export function refuseLocked(config: ConfigView, keys: readonly string[]): void {
  const held = keys.filter(key => locked(config, key))
  if (held.length === 0) return
  const holders = held.map(key =>
    config.sources[key] === 'env'
      ? `"${key}" by the variable ${variableOf(config, key)}`
      : `"${key}" by the settings file`,
  )
  throw new HubError('setting_locked', `Cannot change these settings, they are held elsewhere: ${holders.join(', ')}`, {
    hint: 'Change the variable or the file, or remove the key there.',
  })
}

function given(body: z.output<ReturnType<typeof changeable>>): Record<string, JsonValue> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as Record<
    string,
    JsonValue
  >
}
