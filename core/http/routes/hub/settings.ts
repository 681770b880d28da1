import { z } from 'zod'
import { LIMITS } from '../../../config/limits.ts'
import type { FieldCode } from '../../../contract/errors.ts'
import type { JsonValue } from '../../../contract/json.ts'
import type { UserActor } from '../../../contract/records.ts'
import { nextTurn } from '../../../domain/next-turn.ts'
import { HEADER_CONSENTS, HOSTED_KEY_PREFIX } from '../../../domain/server/header-consents.ts'
import { looksMasked } from '../../../domain/server/secrets.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { Registry, SettingRegistry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { limitedRecord, timestamp } from '../schemas.ts'
import { changedConsents, shownConsents } from '../servers/header-consents.ts'

/** Dependencies of the routes of a user's own settings. */
export interface SettingsRoutesDeps {
  readonly registry: Pick<Registry, 'settings' | 'servers' | 'audit'>
}

const language = z.enum(['en', 'zh'])
const theme = z.enum(['light', 'dark', 'system'])
const platform = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'a platform is lower-case letters, digits and dashes')

const KEY_CHARACTERS = 8192

/** Sent in a header; a masked value is rejected, since it is not the key. */
const hostedKey = z
  .string()
  .min(1)
  .max(KEY_CHARACTERS)
  .superRefine((text, context) => {
    if (text === '' || text.length > KEY_CHARACTERS) return
    const refuse = (code: FieldCode, message: string): void =>
      context.addIssue({ code: 'custom', message, params: { code } })
    if (looksMasked(text)) refuse('secret_mask', 'A masked value; enter the key itself, or leave the platform out')
    else if (!/^[\x21-\x7e]+$/.test(text)) refuse('key_invalid', 'A key is printable ASCII without spaces')
  })

const settings = z.object({
  language,
  theme,
  hostedKeys: z.record(z.string(), z.object({ set: z.literal(true), last4: z.string(), setAt: timestamp })),
  passthroughHeaders: z.record(z.string(), z.array(z.string())),
})

const example = {
  language: 'en',
  theme: 'system',
  hostedKeys: { modelscope: { set: true, last4: '1f3c', setAt: '2026-11-21T09:30:00.000Z' } },
  passthroughHeaders: { 'ada~tickets': ['x-tenant'] },
}

/** Most entries of one map that a change has; the stored ones have limits of their own. */
const MOST_ENTRIES = 256

const patch = z.strictObject({
  language: language.nullable().optional(),
  theme: theme.nullable().optional(),
  hostedKeys: limitedRecord(platform, hostedKey.nullable(), MOST_ENTRIES)
    .optional()
    .meta({ description: 'Write-only: a secret per platform; null removes it' }),
  passthroughHeaders: limitedRecord(z.string(), z.array(z.string().max(256)).nullable(), MOST_ENTRIES)
    .optional()
    .meta({
      description:
        'By server of another owner (`owner~name`), the headers of your requests that it may have, of those that it asks for; null takes them back',
    }),
})

/** The caller's own settings. */
export function settingsRoutes({ registry }: SettingsRoutesDeps): Route[] {
  const common = { path: '/api/settings', tag: 'settings' } as const
  const responses = { 200: { description: 'Your settings', schema: settings, example } }
  return [
    route({
      ...common,
      access: 'user',
      method: 'GET',
      summary: 'Your own settings',
      responses,
      async handle({ actor }) {
        return { body: await userSettings(registry, actor) }
      },
    }),
    route({
      ...common,
      access: 'user',
      method: 'PATCH',
      summary: 'Change your own settings; null goes back to the default',
      body: patch,
      responses,
      async handle({ actor, body, info }) {
        // Each part is some milliseconds where there are 64 keys.
        await changeUserSettings(registry, actor, body)
        await nextTurn()
        registry.audit.record(actor, {
          action: 'settings.update',
          target: actor.name,
          ownerId: actor.userId,
          request: info,
          detail: { keys: changedKeys(body) },
        })
        await nextTurn()
        return { body: await userSettings(registry, actor) }
      },
    }),
  ]
}

type Patch = z.output<typeof patch>

type SettingsRegistry = SettingsRoutesDeps['registry']

async function userSettings(registry: SettingsRegistry, actor: UserActor): Promise<object> {
  const stored = await registry.settings.user(actor.userId)
  const secrets = await registry.settings.userSecretInfo(actor.userId, HOSTED_KEY_PREFIX)
  return {
    language: language.safeParse(stored.language).data ?? 'en',
    theme: theme.safeParse(stored.theme).data ?? 'system',
    hostedKeys: Object.fromEntries(
      Object.entries(secrets).map(([key, { last4, setAt }]) => [platformOf(key), { set: true, last4, setAt }]),
    ),
    passthroughHeaders: await shownConsents(registry, actor),
  }
}

function platformOf(key: string): string {
  return key.startsWith(HOSTED_KEY_PREFIX) ? key.slice(HOSTED_KEY_PREFIX.length) : key
}

async function changeUserSettings(registry: SettingsRegistry, actor: UserActor, body: Patch): Promise<void> {
  const { hostedKeys, passthroughHeaders, ...plain } = body
  const { settings: stored } = registry
  if (hostedKeys) {
    await refuseTooMany(stored, actor.userId, hostedKeys)
    await nextTurn()
  }
  const values: Record<string, JsonValue> = {}
  for (const [key, value] of Object.entries(plain)) if (value !== undefined) values[key] = value
  if (passthroughHeaders) values[HEADER_CONSENTS] = await changedConsents(registry, actor, passthroughHeaders)
  const secrets = Object.entries(hostedKeys ?? {}).map(
    ([name, secret]) => [`${HOSTED_KEY_PREFIX}${name}`, secret] as const,
  )
  await stored.setUser(actor, actor.userId, values, Object.fromEntries(secrets))
}

async function refuseTooMany(
  registry: SettingRegistry,
  userId: string,
  changed: Readonly<Record<string, string | null>>,
): Promise<void> {
  const kept = new Set(Object.keys(await registry.userSecretTimes(userId, HOSTED_KEY_PREFIX)).map(platformOf))
  for (const [name, secret] of Object.entries(changed)) {
    if (secret === null) kept.delete(name)
    else kept.add(name)
  }
  if (kept.size <= LIMITS.hostedKeysPerUser) return
  const detail = `Keys of ${kept.size} platforms; at most ${LIMITS.hostedKeysPerUser} are kept`
  throw validationError([{ pointer: '#/hostedKeys', code: 'length', detail }])
}

/** The names of changed settings, without values, which may be secret. */
export function changedKeys({ hostedKeys, ...plain }: Patch): string[] {
  return [...Object.keys(plain), ...Object.keys(hostedKeys ?? {}).map(name => `${HOSTED_KEY_PREFIX}${name}`)]
}
