import { hasHidden, visibleName } from 'patchbay/plugin-kit'
import { z } from 'zod'
import type { MarketTemplate, MarketVariant } from './types.ts'

/** Categories of templates; other words of a source become tags. */
export const CATEGORIES = [
  ...['ai', 'automation', 'browser', 'business', 'cloud', 'communication', 'database', 'design', 'developer'],
  ...['files', 'finance', 'knowledge', 'maps', 'media', 'monitoring', 'productivity', 'search', 'travel', 'utility'],
] as const

const oneLine = (most: number) => z.string().min(1).max(most)
/** A text of one line that is run, sent or compared: one with hidden characters is refused. */
export const line = (most: number) => oneLine(most).refine(text => !hasHidden(text))
/** A text of one line that people read, with hidden characters shown. Control characters are refused. */
const shown = (most: number) =>
  oneLine(most)
    .regex(/^\P{Cc}*$/u)
    .transform(visibleName)
const link = z
  .url({ protocol: /^https$/ })
  .max(2_048)
  .refine(text => !hasHidden(text))
const word = line(4_096)
const words = z.record(line(256), word)

/** A way to run a template. */
export const variant = z.strictObject({
  id: line(64),
  kind: z.enum(['npm', 'pypi', 'remote']),
  package: line(214).optional(),
  version: line(64).optional(),
  args: z
    .array(z.union([word, z.array(word).min(1).max(10)]))
    .max(100)
    .optional(),
  env: words.optional(),
  url: line(2_048).optional(),
  headers: words.optional(),
  transport: z.enum(['sse', 'streamable-http']).optional(),
})

/** Schema of an input that a user fills in. */
export const input = z.strictObject({
  name: line(128).regex(/^[^{}]+$/),
  label: shown(100).optional(),
  description: shown(1_000).optional(),
  format: z.enum(['string', 'number', 'boolean', 'path']).optional(),
  placeholder: shown(500).optional(),
  required: z.boolean().optional(),
  secret: z.boolean().optional(),
  default: word.optional(),
  choices: z.array(word).max(100).optional(),
})

const schema = z.strictObject({
  name: line(200),
  title: shown(100),
  description: z.union([shown(500), z.strictObject({ en: shown(500), zh: shown(500) })]),
  version: line(64),
  status: z.enum(['active', 'deprecated']).optional(),
  message: shown(500).optional(),
  publisher: shown(100).optional(),
  homepage: link.optional(),
  repository: link.optional(),
  license: shown(64).optional(),
  categories: z.array(shown(64)).max(20),
  tags: z.array(shown(64)).max(50).optional(),
  toolCount: z.int().min(0).max(10_000).optional(),
  updatedAt: z.iso.datetime().max(64).optional(),
  variants: z.array(variant).min(1).max(10),
  inputs: z.array(input).max(40),
})

const TEMPLATE_CHARACTERS = 64 * 1024
const NPM_NAME = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/
const PYPI_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/
const NPM_VERSION = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/
const PYPI_VERSION = /^\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*$/

/** Returns the template, with unknown categories as tags; undefined if it violates a rule or a limit. */
export function checkTemplate(given: unknown): MarketTemplate | undefined {
  const { data } = schema.safeParse(given)
  if (!data || JSON.stringify(data).length > TEMPLATE_CHARACTERS) return undefined
  const names = data.inputs.map(({ name }) => name)
  if (new Set(names).size !== names.length) return undefined
  const isCategory = (name: string): boolean => (CATEGORIES as readonly string[]).includes(name)
  const categories = data.categories.filter(isCategory)
  const tags = [...new Set([...(data.tags ?? []), ...data.categories.filter(name => !isCategory(name))])]
  return { ...(data as MarketTemplate), categories: categories.length > 0 ? categories : ['utility'], tags }
}

/** True when a package's variant leaves the version to the user who installs it. */
export function isUnpinned({ kind, version = 'latest' }: MarketVariant): boolean {
  return kind !== 'remote' && (version === '' || version === 'latest')
}

/** Reason why a variant cannot be installed; undefined if it can. `canPin`: its source can find versions. */
export function unusable(variant: MarketVariant, canPin = false): string | undefined {
  if (variant.kind === 'remote') {
    const url = URL.parse(variant.url ?? '')
    if (url?.protocol !== 'https:') return 'Its address is not https'
    return url.username !== '' || url.password !== '' ? 'Its address holds a user name' : undefined
  }
  const { kind, package: id = '', version = '' } = variant
  if (!(kind === 'npm' ? NPM_NAME : PYPI_NAME).test(id)) return 'It names no package of the registry'
  if (canPin && isUnpinned(variant)) return undefined
  return (kind === 'npm' ? NPM_VERSION : PYPI_VERSION).test(version) ? undefined : 'Its version is not exact'
}
