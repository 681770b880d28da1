import { z } from 'zod'
import { timestamp } from '../schemas.ts'

/** Body of an installation. */
export const installBody = z
  .strictObject({
    name: z.string().min(1).max(64).optional().meta({ description: 'Of the server; default the template’s own' }),
    variant: z.string().min(1).max(64).optional().meta({ description: 'Default: the first that can be used' }),
    inputs: z.record(z.string().max(128), z.string().max(8_192)).optional(),
    start: z.boolean().optional().meta({ description: 'Switches the server on. Default false' }),
    planHash: z
      .string()
      .length(64)
      .optional()
      .meta({ description: 'From `?dryRun=true`; without it nothing is installed' }),
  })
  .meta({ examples: [{ name: 'files', inputs: { allowed_directory: 'notes' }, planHash: '0'.repeat(64) }] })

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
  usable: z.boolean(),
  why: z.string().optional().meta({ description: 'Why it cannot be installed' }),
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
  categories: z.array(z.string()),
  tags: z.array(z.string()).optional(),
  verified: z.boolean().meta({ description: 'Comes with the hub' }),
  variants: z.array(variant),
  inputs: z.array(
    z.looseObject({
      name: z.string(),
      description: z.string().optional(),
      required: z.boolean().optional(),
      secret: z.boolean().optional(),
      default: z.string().optional(),
      choices: z.array(z.string()).optional(),
    }),
  ),
})

/** An example of {@link template}. */
export const templateExample = {
  ...{ id: 'bundled:filesystem', source: 'bundled', name: 'filesystem', title: 'Filesystem', version: '2026.8.31' },
  description: {
    en: 'Read, write, search and move files below chosen folders',
    zh: '在指定目录内读写、搜索和移动文件',
  },
  ...{ status: 'active', categories: ['files'], tags: [], verified: true },
  variants: [
    {
      ...{ id: 'npm', kind: 'npm', package: '@modelcontextprotocol/server-filesystem', version: '2026.8.31' },
      ...{ args: ['{allowed_directory}'], usable: true },
    },
  ],
  inputs: [{ name: 'allowed_directory', required: true }],
}

/** A category. */
export const category = z.object({ name: z.string(), templates: z.number().int() })

/** A source of templates. */
export const source = z.object({
  id: z.string(),
  label: z.string(),
  state: z.enum(['ready', 'loading', 'failed']),
  templates: z.number().int(),
  leftOut: z.number().int().meta({ description: 'Entries that break a rule or a limit' }),
  readAt: timestamp.optional(),
  error: z.string().optional(),
})

/** An example of {@link source}. */
export const sourceExample = {
  ...{
    id: 'bundled',
    label: 'Bundled',
    state: 'ready',
    templates: 115,
    leftOut: 0,
    readAt: '2026-11-24T09:30:00.000Z',
  },
}

/** What an installation would do. */
export const plan = z.looseObject({
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
  ...{ variant: 'npm', env: [], headers: [], missing: [], planHash: '0'.repeat(64) },
  argv: ['npx', '-y', '@modelcontextprotocol/server-memory@2026.8.31'],
  warnings: ['It downloads a package when it first starts'],
  permissions: { runs: true, network: 'proxy', hosts: [], secrets: [] },
}
