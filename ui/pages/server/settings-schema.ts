import { api } from '../../api/client.ts'
import { hasRole } from '../../api/sharing.ts'
import type { ServerRecord } from '../../api/types.ts'
import { t } from '../../text/t.ts'

type Schema = Readonly<Record<string, unknown>>

/** Fields of the API's record that are not configuration. */
const NOT_SETTINGS: ReadonlySet<string> = new Set([
  ...['id', 'ref', 'owner', 'role', 'mine', 'origin', 'revision', 'createdAt', 'updatedAt'],
  ...['status', 'review', 'problem', 'tools', 'toolsDefault', 'prompts', 'resources', 'visibility'],
])

/** Fields of the configuration that only the owner changes. */
const OF_THE_OWNER: ReadonlySet<string> = new Set(['name', 'credentials'])

/** The configuration of a server without what other tabs change, and without what the reader may not change. */
export function settingsOf(server: ServerRecord): Readonly<Record<string, unknown>> {
  const isShown = (name: string): boolean =>
    !NOT_SETTINGS.has(name) && (!OF_THE_OWNER.has(name) || hasRole(server, 'owner'))
  return Object.fromEntries(Object.entries(server).filter(([name, value]) => isShown(name) && value !== undefined))
}

let transports: Promise<Readonly<Record<string, Schema>>> | undefined

/** Schemas of the transports that the hub has, by name. Read once. */
function transportSchemas(): Promise<Readonly<Record<string, Schema>>> {
  transports ??= api
    .get<{ readonly components: { readonly schemas: Readonly<Record<string, Schema>> } }>('/api/openapi.json')
    .then(({ components }) =>
      Object.fromEntries(
        Object.entries(components.schemas)
          .filter(([name]) => name.startsWith('Transport.'))
          .map(([name, schema]) => [name.slice('Transport.'.length), schema]),
      ),
    )
  transports.catch(() => {
    transports = undefined
  })
  return transports
}

const ms = (title: string, description?: string): Schema => ({
  type: 'integer',
  minimum: 1,
  maximum: 3_600_000,
  title,
  ...(description === undefined ? {} : { description }),
})

const nameSchema = (): Schema => ({
  ...{ type: 'string', minLength: 1, maxLength: 64, title: t('Name') },
  description: t('Clients know it by this name: another one changes their addresses.'),
})

/** The schema of a server's form: its transport's own fields, then those that all servers have. */
export async function settingsSchema(server: ServerRecord): Promise<Schema> {
  const own = (await transportSchemas())[server.transport]
  return {
    type: 'object',
    required: [...(hasRole(server, 'owner') ? ['name'] : []), ...((own?.required ?? []) as readonly string[])],
    properties: {
      ...(hasRole(server, 'owner') ? { name: nameSchema() } : {}),
      description: { type: 'string', maxLength: 2000, title: t('Description') },
      tags: {
        type: 'array',
        items: { type: 'string', maxLength: 32 },
        maxItems: 20,
        title: t('Tags'),
        description: t('Words to find it by, and for rules'),
      },
      ...((own?.properties ?? {}) as Readonly<Record<string, unknown>>),
      start: {
        enum: ['eager', 'lazy'],
        title: t('Starts'),
        description: t('eager: with the hub; lazy: with the first call'),
      },
      session: { enum: ['auto', 'shared', 'per-session', 'per-user'], title: t('Shared') },
      timeout: ms(t('Timeout, ms')),
      maxTimeout: ms(t('Longest with progress, ms')),
      startTimeout: {
        ...ms(t('Longest start, ms')),
        maximum: 600_000,
        description: t('Until the server has answered the first request; empty: as the hub has it'),
      },
      definitionPolicy: {
        enum: ['report', 'pin'],
        title: t('Changed definitions'),
        description: t('pin: a tool whose definition changed is blocked until it is approved'),
      },
      outputSchemas: {
        enum: ['strict', 'loose', 'off'],
        title: t('Output schemas'),
        description: t(
          'strict: as the server says; loose: so that no result violates them; off: none. Empty: loose for HTTP APIs, else strict',
        ),
      },
      healthCheck: {
        type: 'object',
        title: t('Health check'),
        properties: {
          enabled: { type: 'boolean', title: t('Checked regularly') },
          interval: { ...ms(t('Every, ms')), minimum: 100 },
          timeout: ms(t('Timeout, ms')),
          retries: { type: 'integer', minimum: 0, maximum: 100, title: t('Failures that count as a loss') },
        },
      },
      logging: {
        type: 'object',
        title: t('Log'),
        properties: {
          callErrors: {
            type: 'boolean',
            default: true,
            title: t('Text of failed calls'),
            description: t('Records of failed calls hold the first 500 characters of the error'),
          },
        },
      },
      passthroughHeaders: {
        type: 'array',
        items: { type: 'string' },
        title: t('Headers passed on'),
        description: t('Headers of callers that go to the server, where the caller agrees'),
      },
      secrets: {
        type: 'array',
        items: { type: 'string' },
        title: t('Secrets'),
        description: t('JSON pointers of values that are sealed and never shown, such as /env/API_KEY'),
      },
    },
  }
}
