// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of servers, not template strings
import { anyJson, limitedRecord, timestamp } from 'patchbay/plugin-kit'
import { z } from 'zod'

const planHash = z
  .string()
  .length(64)
  .optional()
  .meta({ description: 'From `?dryRun=true`; without it nothing is changed' })

/** Body of an installation. */
export const installBody = z
  .strictObject({
    name: z.string().min(1).max(64).optional().meta({ description: 'Of the server; default the template’s own' }),
    variant: z.string().min(1).max(64).optional().meta({ description: 'Default: the first that can be used' }),
    inputs: limitedRecord(z.string().max(128), z.string().max(8_192), 256).optional(),
    start: z.boolean().optional().meta({ description: 'Switches the server on. Default false' }),
    planHash,
  })
  .meta({ examples: [{ name: 'files', inputs: { allowed_directory: 'notes' }, planHash: '0'.repeat(64) }] })

/** Body of a change to another version. */
export const upgradeBody = z
  .strictObject({
    inputs: z
      .record(z.string().max(128), z.string().max(8_192))
      .optional()
      .meta({ description: 'Of inputs that are new, or get another value; the others stay as they are' }),
    choices: z
      .record(z.string().max(512), z.enum(['keep', 'take']))
      .optional()
      .meta({
        description: 'By pointer of a conflict: `keep` what you changed by hand, or `take` what the template has',
      }),
    planHash,
  })
  .meta({ examples: [{ inputs: {}, planHash: '0'.repeat(64) }] })

const transport = z.enum(['stdio', 'streamable-http', 'sse'])

const variant = z.looseObject({
  id: z.string(),
  kind: z.enum(['npm', 'pypi', 'remote']),
  package: z.string().optional(),
  version: z.string().optional(),
  args: z
    .array(z.union([z.string(), z.array(z.string())]))
    .optional()
    .meta({ description: 'Words in a list of their own come together or not at all' }),
  url: z.string().optional(),
  transport,
  inputs: z.array(z.string()).meta({ description: 'Names of the inputs that this variant uses' }),
  usable: z.boolean(),
  why: z.string().optional().meta({ description: 'Why it cannot be installed' }),
})

const shownInput = z.looseObject({
  name: z.string(),
  label: z.string().meta({ description: 'For people; where the source says none, made of the name' }),
  description: z.string().optional(),
  format: z
    .enum(['string', 'number', 'boolean', 'path'])
    .meta({ description: 'Of what is entered; always sent as a text, such as `"true"`' }),
  placeholder: z.string().optional().meta({ description: 'An example' }),
  required: z.boolean().optional().meta({ description: 'A blank text fills it as little as none' }),
  secret: z.boolean().optional(),
  default: z.string().optional(),
  choices: z.array(z.string()).optional(),
})

/** A template in responses. */
export const template = z.looseObject({
  id: z.string().meta({ description: '`source:name`; in paths with `~` for `/`' }),
  source: z.string(),
  name: z.string(),
  title: z.string(),
  description: z.union([z.string(), z.object({ en: z.string(), zh: z.string() })]),
  version: z.string(),
  status: z.enum(['active', 'deprecated']).optional(),
  message: z.string().optional(),
  homepage: z.string().optional(),
  publisher: z.string().optional(),
  toolCount: z.int().optional().meta({ description: 'As somebody counted; the server itself says what it has' }),
  updatedAt: timestamp.optional(),
  categories: z.array(z.string()),
  tags: z.array(z.string()).optional(),
  verified: z.boolean().meta({
    description: 'Comes with the hub, or from a registry under a name that is proven by a domain',
  }),
  trust: z.object({
    origin: z.enum(['bundled', 'registry', 'catalogue']),
    namespace: z.string(),
    pinned: z.boolean().meta({ description: 'Every package has an exact version' }),
  }),
  transports: z.array(transport),
  permissions: z.looseObject({ runs: z.boolean().optional() }).meta({ description: 'Of the first usable variant' }),
  installed: z
    .array(
      z.object({
        server: z.string().meta({ description: '`owner~name`' }),
        version: z.string(),
        variant: z.string(),
        update: z.boolean().meta({ description: 'This template is newer' }),
        previous: z.string().optional().meta({ description: 'The version that a downgrade goes back to' }),
      }),
    )
    .meta({ description: 'Your own servers of it' }),
  variants: z.array(variant),
  inputs: z.array(shownInput),
})

/** An example of {@link template}. */
export const templateExample = {
  ...{ id: 'bundled:filesystem', source: 'bundled', name: 'filesystem', title: 'Filesystem', version: '2026.8.31' },
  description: {
    en: 'Read, write, search and move files below chosen folders',
    zh: '在指定目录内读写、搜索和移动文件',
  },
  ...{ status: 'active', categories: ['files'], tags: [], verified: true, toolCount: 14 },
  trust: { origin: 'bundled', namespace: '', pinned: true },
  transports: ['stdio'],
  permissions: { runs: true, network: 'proxy', hosts: [], files: 'own', secrets: [] },
  installed: [{ server: 'ada~files', version: '2026.7.1', variant: 'npm', update: true }],
  variants: [
    {
      ...{ id: 'npm', kind: 'npm', package: '@modelcontextprotocol/server-filesystem', version: '2026.8.31' },
      ...{ args: ['{allowed_directory}'], transport: 'stdio', inputs: ['allowed_directory'], usable: true },
    },
  ],
  inputs: [{ name: 'allowed_directory', label: 'Allowed directory', format: 'string', required: true }],
}

/** A category. */
export const category = z.object({ name: z.string(), templates: z.number().int() })

/** A source of templates. */
export const source = z.object({
  id: z.string(),
  label: z.string(),
  origin: z.enum(['bundled', 'registry', 'catalogue']),
  state: z.enum(['ready', 'loading', 'failed', 'off', 'offline']).meta({
    description:
      '`failed`: the last list stays; `off`: switched off by an administrator (`marketSourcesOff`); `offline`: MARKET_OFFLINE, the last list stays',
  }),
  templates: z.number().int(),
  leftOut: z.number().int().meta({ description: 'Entries that break a rule or a limit' }),
  readAt: timestamp.optional(),
  ageMs: z.number().optional().meta({ description: 'Of the list' }),
  lastError: z.object({ at: timestamp, code: z.string(), message: z.string() }).optional(),
  nextTryAt: timestamp.optional().meta({ description: 'From then on it is read again when somebody looks' }),
})

/** An example of {@link source}. */
export const sourceExample = {
  ...{
    id: 'bundled',
    label: 'Bundled',
    origin: 'bundled',
    state: 'ready',
    templates: 115,
    leftOut: 0,
    readAt: '2026-11-24T09:30:00.000Z',
    ageMs: 60_000,
  },
}

/** Preview of an installation. */
export const plan = z.looseObject({
  version: z.string().meta({ description: 'Exact' }),
  variant: z.string(),
  argv: z.array(z.string()).meta({ description: 'The words of the command; inputs stand as variables of the server' }),
  env: z.array(z.string()),
  url: z.string().optional(),
  headers: z.array(z.string()),
  missing: z.array(z.string()),
  warnings: z.array(z.string()),
  permissions: z.looseObject({ runs: z.boolean() }),
  planHash: z.string(),
})

/** An example of {@link plan}. */
export const planExample = {
  ...{ version: '2026.8.31', variant: 'npm', env: [], headers: [], missing: [], planHash: '0'.repeat(64) },
  argv: ['npx', '-y', '@modelcontextprotocol/server-memory@2026.8.31'],
  warnings: ['It downloads a package when it first starts'],
  permissions: { runs: true, network: 'proxy', hosts: [], secrets: [] },
}

/** An installed server that differs from its source's list. */
export const update = z.object({
  server: z.string().meta({ description: '`owner~name`' }),
  template: z.string(),
  title: z.string(),
  state: z.enum(['newer', 'older', 'other', 'changed', 'removed', 'unavailable']).meta({
    description:
      'What the source lists, beside what is installed. `changed`: the same version runs or asks for something else; `removed`: it is not listed any more; `unavailable`: the source has no list, or is gone',
  }),
  installed: z.string().meta({ description: 'A version' }),
  available: z.string().optional().meta({ description: 'The version in the source' }),
  deprecated: z.boolean().optional(),
  message: z.string().optional(),
  previous: z.string().optional().meta({ description: 'The version that a downgrade goes back to' }),
})

/** An example of {@link update}. */
export const updateExample = {
  ...{ server: 'ada~files', template: 'bundled:filesystem', title: 'Filesystem', state: 'newer' },
  ...{ installed: '2026.7.1', available: '2026.8.31' },
}

/** Preview of a change to another version. */
export const upgradePlan = z.looseObject({
  from: z.string(),
  to: z.string(),
  argvBefore: z.array(z.string()),
  argv: z.array(z.string()),
  changes: z.array(z.object({ pointer: z.string(), from: anyJson, to: anyJson })),
  inputs: z.object({
    kept: z.array(z.string()),
    added: z.array(shownInput),
    removed: z.array(z.string()),
  }),
  kept: z.array(z.string()).meta({ description: 'Pointers of what you changed by hand and keep' }),
  conflicts: z
    .array(
      z.object({
        pointer: z.string(),
        installed: anyJson,
        present: anyJson,
        offered: anyJson,
        choice: z.enum(['keep', 'take']).optional(),
      }),
    )
    .meta({ description: 'What you and the template both changed; each needs a choice' }),
  missing: z.array(z.string()),
  warnings: z.array(z.string()),
  permissions: z.looseObject({ runs: z.boolean() }),
  reconnects: z.boolean().meta({ description: 'The server is on, and reconnects' }),
  planHash: z.string(),
})

/** An example of {@link upgradePlan}. */
export const upgradePlanExample = {
  ...{ from: '2026.7.1', to: '2026.8.31', kept: [], conflicts: [], missing: [], reconnects: true },
  argvBefore: ['npx', '-y', '@modelcontextprotocol/server-filesystem@2026.7.1', '${ALLOWED_DIRECTORY}'],
  argv: ['npx', '-y', '@modelcontextprotocol/server-filesystem@2026.8.31', '${ALLOWED_DIRECTORY}'],
  changes: [],
  inputs: { kept: ['allowed_directory'], added: [], removed: [] },
  warnings: ['It downloads a package when it first starts'],
  permissions: { runs: true, network: 'proxy', hosts: [], files: 'own', secrets: [] },
  planHash: '0'.repeat(64),
}
