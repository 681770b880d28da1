import { createHash } from 'node:crypto'
import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { AuditedRequest } from 'patchbay/features'
import { canonical, type Draft, fillVariant, quoteName, usedInputs } from 'patchbay/plugin-kit'
import { marketError } from './errors.ts'
import { readInputs } from './inputs.ts'
import { unusable } from './template-check.ts'
import type { InstalledTemplate, MarketTemplate, MarketVariant } from './types.ts'

/** A user's request to install a template. */
export interface InstallRequest {
  /** The template's id. */
  readonly id: string
  readonly name: string
  /** Default: the first usable one. */
  readonly variant: string | undefined
  readonly inputs: Readonly<Record<string, string>>
  readonly start: boolean
  /** The request that asks for it, for the audit log. */
  readonly request: AuditedRequest
}

/** Preview of an installation. */
export interface InstallPlan {
  readonly version: string
  readonly variant: string
  /** The words of the command, untruncated; secrets are named. Empty for a remote server. */
  readonly argv: readonly string[]
  readonly env: readonly string[]
  readonly url?: string
  readonly headers: readonly string[]
  /** Names of required inputs without a value. */
  readonly missing: readonly string[]
  readonly warnings: readonly string[]
  readonly permissions: JsonObject
}

/** An installation: its preview, and what it is made of. */
export interface InstallDraft extends Draft<InstallPlan> {
  /** Flat, as for `POST /api/servers`. */
  readonly body: JsonObject
  /** Facts about the template that are stored with the server. */
  readonly installed: Omit<InstalledTemplate, 'installedAt'>
}

/** Returns the draft of installing a template. Throws `validation_failed` with all wrong inputs, `template_unusable`. */
export function draftInstall(template: MarketTemplate, request: InstallRequest): InstallDraft {
  const variant = chooseVariant(template, request.variant)
  const { values, missing } = readInputs(template.inputs, variant, request.inputs)
  const { body: fields, variables, secrets, ...filled } = fillVariant(variant, template.inputs, values)
  const body: JsonObject = { name: request.name, enabled: request.start, ...fields }
  const shown = {
    ...{ version: template.version, variant: variant.id },
    ...filled,
    missing,
    warnings: warningsOf(template, variant),
    permissions: permissionsOf(variant, secrets),
  }
  const installed = { ...installedPart(template, variant), variables }
  const decides = [{ id: request.id, template, body, shown } as unknown as JsonValue]
  return { body, installed, shown, missing, decides }
}

/** SHA-256 (hex) of a value, independent of the order of its members. */
export function hashOf(value: JsonValue): string {
  return createHash('sha256').update(canonical(value)).digest('hex')
}

/** SHA-256 (hex) of the command and inputs of a template's version; the display of inputs is not part of it. */
export function contentHash({ version, variant, inputs }: Pick<InstalledTemplate, 'version' | 'variant' | 'inputs'>) {
  const asked = inputs.map(({ label: _, format: __, placeholder: ___, ...input }) => input)
  return hashOf({ version, variant, inputs: asked } as unknown as JsonValue)
}

/** Facts about a template that are stored with a server, without entered values. */
export function installedPart({ version, inputs }: MarketTemplate, variant: MarketVariant) {
  const used = usedInputs(variant)
  return { version, variant, inputs: inputs.filter(({ name }) => used.has(name)) }
}

/** The wanted variant, or the first usable one. Throws `template_unusable`. */
export function chooseVariant(
  { title, variants }: MarketTemplate,
  wanted: string | undefined,
  canPin = false,
): MarketVariant {
  const found =
    wanted === undefined
      ? (variants.find(one => !unusable(one, canPin)) ?? variants[0])
      : variants.find(({ id }) => id === wanted)
  const reason = found ? unusable(found, canPin) : 'There is no such variant'
  if (found && !reason) return found
  throw marketError('template_unusable', `${quoteName(title)} cannot be installed here: ${reason}`)
}

/** Sentences that a user should read before the installation. */
export function warningsOf(
  { status, message, inputs }: Pick<MarketTemplate, 'status' | 'message' | 'inputs'>,
  { kind, args = [] }: MarketVariant,
): string[] {
  const words = args.flat()
  const open = inputs.filter(({ name, secret }) => secret && words.some(word => word.includes(`{${name}}`)))
  const names = open.map(({ name }) => name).join(', ')
  return [
    ...(status === 'deprecated' ? ['Its authors do not maintain it any more'] : []),
    ...(message === undefined ? [] : [message]),
    ...(kind === 'remote' ? [] : ['It downloads a package when it first starts']),
    ...(names === '' ? [] : [`It takes secrets as arguments, which other programs on its machine can see: ${names}`]),
  ]
}

/** Permissions of a variant, as far as the hub can determine them. */
export function permissionsOf({ kind, url }: MarketVariant, secrets: readonly string[]): JsonObject {
  const isRemote = kind === 'remote'
  return {
    runs: !isRemote,
    network: isRemote ? 'host' : 'proxy',
    hosts: isRemote ? [hostOf(url)] : [],
    files: isRemote ? 'none' : 'own',
    secrets: [...secrets],
  }
}

/** A URL may begin with an input, so that its host is not known yet. */
function hostOf(url = ''): string {
  return URL.parse(url)?.host ?? url.replace(/^https:\/\//, '').split('/')[0] ?? ''
}
