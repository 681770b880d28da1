// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of manifests, not template strings
import { HubError, type JsonObject, type JsonValue } from 'patchbay/contract'
import { guardJson, hasHidden, quoteName, visibleName, visibleText } from 'patchbay/plugin-kit'
import { z } from 'zod'
import { invalid } from './archive.ts'

/** Bytes of a manifest. */
export const MANIFEST_BYTES = 256 * 1024

const VERSIONS = ['0.1', '0.2', '0.3', '0.4']
const text = (most: number) => z.string().max(most)
const HIDDEN = 'it holds a control character or another one that cannot be seen'
/** A text that is run or compared. */
const word = (most: number) => text(most).refine(value => !hasHidden(value), HIDDEN)
/** A value of a variable, which may have several lines. */
const value = (most: number) => text(most).refine(given => !hasHidden(given, { lines: true }), HIDDEN)
/** A text that people read, with hidden characters shown: of one line, and of several. */
const name = (most: number) => text(most).transform(visibleName)
const about = (most: number) => text(most).transform(visibleText)
const command = z.object({
  command: word(4_096).min(1),
  args: z.array(word(8_192)).max(200).optional(),
  env: z.record(word(256), value(8_192)).optional(),
})
const config = command.extend({ platform_overrides: z.record(word(64), command.partial()).optional() })
const option = z.object({
  type: z.enum(['string', 'number', 'boolean', 'directory', 'file']),
  title: name(200).optional(),
  description: about(2_000).optional(),
  required: z.boolean().optional(),
  default: z.union([value(8_192), z.number(), z.boolean(), z.array(value(8_192)).max(50)]).optional(),
  multiple: z.boolean().optional(),
  sensitive: z.boolean().optional(),
  min: z.number().optional(),
  max: z.number().optional(),
})

const schema = z.object({
  manifest_version: z.string().optional(),
  dxt_version: z.string().optional(),
  name: text(200).min(1).transform(visibleName),
  display_name: name(200).optional(),
  version: text(64).min(1).transform(visibleName),
  description: about(4_096).optional(),
  author: z.object({ name: name(200) }).optional(),
  homepage: name(2_048).optional(),
  license: name(100).optional(),
  server: z.object({
    type: z.enum(['node', 'python', 'binary', 'uv']),
    entry_point: word(1_024).optional(),
    mcp_config: config.optional(),
  }),
  tools: z
    .array(z.object({ name: name(256), description: about(4_096).optional() }))
    .max(1_000)
    .optional(),
  compatibility: z.object({ platforms: z.array(name(32)).max(20).optional() }).optional(),
  user_config: z.record(text(100).regex(/^[A-Za-z0-9_.-]+$/), option).optional(),
})

/** An input of a bundle. */
export type BundleOption = z.infer<typeof option>
/** The parts of a manifest (of any version) that the hub uses. */
export type BundleManifest = z.infer<typeof schema>
/** A command with placeholders, those of this platform. */
export type BundleCommand = z.infer<typeof command>

const MOST_OPTIONS = 40

/** Reads manifest.json. Fields that are not known are ignored. Throws `bundle_invalid`. */
export function readManifest(bytes: Uint8Array): BundleManifest {
  const { data, error } = schema.safeParse(parsed(bytes))
  if (!data) {
    const [issue] = error.issues
    throw invalid(`manifest.json, at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? 'it is not valid'}`)
  }
  const version = data.manifest_version ?? data.dxt_version
  if (version === undefined) throw invalid('manifest.json names no manifest_version')
  if (!VERSIONS.includes(version)) {
    throw invalid(`manifest.json has version ${quoteName(version)}, and ${VERSIONS.join(', ')} are known here`)
  }
  if (Object.keys(data.user_config ?? {}).length > MOST_OPTIONS) {
    throw invalid(`manifest.json asks for more than ${MOST_OPTIONS} values`)
  }
  const { mcp_config: given, type, entry_point: entry } = data.server
  if (!given && type !== 'uv') throw invalid('manifest.json has no server.mcp_config')
  if (!given && entry === undefined) throw invalid('manifest.json has neither server.mcp_config nor server.entry_point')
  // For uv it would be an option.
  if (!given && entry?.startsWith('-')) throw invalid('server.entry_point of manifest.json begins with "-"')
  return data
}

function parsed(bytes: Uint8Array): JsonObject {
  try {
    const value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as JsonValue
    guardJson(value)
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value
  } catch (error) {
    const why = error instanceof HubError || error instanceof SyntaxError ? error.message : 'it is no UTF-8'
    throw invalid(`manifest.json cannot be read: ${why.slice(0, 200)}`)
  }
  throw invalid('manifest.json is no object')
}

/** Files that a bundle of this kind must have at its top. */
export function wantedFiles({ server }: BundleManifest): readonly string[] {
  return server.type === 'uv' ? ['pyproject.toml'] : []
}

/** The command of this platform: each field that the overrides have replaces the common one. */
export function commandOf({ server }: BundleManifest, platform: string): BundleCommand {
  const { entry_point: entry = '', mcp_config: given } = server
  // Manifests of 0.4 may leave the command of "uv" to the client.
  const { platform_overrides: overrides, ...common } = given ?? {
    command: 'uv',
    args: ['run', '--directory', '${__dirname}', entry],
  }
  const own = overrides && Object.hasOwn(overrides, platform) ? overrides[platform] : {}
  return { ...common, ...own, command: own?.command ?? common.command }
}

/** Why a bundle cannot run on this platform; undefined when it can. */
export function unusable(manifest: BundleManifest, platform: string): string | undefined {
  const { platforms } = manifest.compatibility ?? {}
  if (!platforms || platforms.includes(platform)) return undefined
  return `It is made for ${platforms.join(', ') || 'no platform'}, and this machine has ${platform}`
}
