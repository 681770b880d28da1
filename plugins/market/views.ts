import type { JsonObject, ServerRecord } from 'patchbay/contract'
import { formatRef, usedInputs } from 'patchbay/plugin-kit'
import type { Listed } from './cache.ts'
import { shownInput } from './inputs.ts'
import { contentHash, permissionsOf } from './plan.ts'
import { isUnpinned, unusable } from './template-check.ts'
import type { MarketSource, MarketVariant, TemplateOrigin } from './types.ts'
import { availability } from './updates.ts'

/** A server that was installed from a template. */
export type InstalledServer = Omit<ServerRecord, 'template'> & { readonly template: TemplateOrigin }

/** The servers that were installed from the market. */
export function fromMarket(servers: readonly ServerRecord[]): readonly InstalledServer[] {
  return servers.flatMap(server =>
    server.template === undefined ? [] : [{ ...server, template: server.template as unknown as TemplateOrigin }],
  )
}

/** A template as the API shows it, with the caller's own servers of it. */
export function templateView(
  { id, source, template }: Listed,
  { origin = 'catalogue', pin }: Pick<MarketSource, 'origin' | 'pin'>,
  servers: readonly InstalledServer[],
): JsonObject {
  const { variants, toolCount, ...rest } = template
  const canPin = pin !== undefined
  const first = variants.find(variant => unusable(variant, canPin) === undefined) ?? variants[0]
  const namespace = template.name.includes('/') ? (template.name.split('/')[0] ?? '') : ''
  return {
    ...{ id, source },
    ...(rest as unknown as JsonObject),
    inputs: template.inputs.map(shownInput) as unknown as JsonObject[],
    ...(toolCount === undefined ? {} : { toolCount }),
    // A registry proves a namespace by its domain, but those of accounts by the account alone.
    verified:
      origin === 'bundled' || (origin === 'registry' && namespace !== '' && !namespace.startsWith('io.github.')),
    trust: { origin, namespace, pinned: !variants.some(isUnpinned) },
    transports: [...new Set(variants.map(transportOf))],
    permissions: first ? permissionsOf(first, secretsOf(first, template.inputs)) : {},
    variants: variants.map(variant => variantView(variant, canPin)),
    installed: servers.map(server => ({
      server: formatRef(server.ownerName, server.name),
      version: server.template.version,
      variant: server.template.variant.id,
      update: availability(server.template, template) === 'newer',
      ...(server.template.previous ? { previous: server.template.previous.version } : {}),
    })),
  }
}

function variantView(variant: MarketVariant, canPin: boolean): JsonObject {
  const why = unusable(variant, canPin)
  return {
    ...(variant as unknown as JsonObject),
    ...{ transport: transportOf(variant), inputs: [...usedInputs(variant)], usable: why === undefined },
    ...(why === undefined ? {} : { why }),
  }
}

function transportOf({ kind, transport }: MarketVariant): string {
  return kind === 'remote' ? (transport ?? 'streamable-http') : 'stdio'
}

function secretsOf(variant: MarketVariant, inputs: Listed['template']['inputs']): string[] {
  const used = usedInputs(variant)
  return inputs.filter(({ name, secret }) => secret && used.has(name)).map(({ name }) => name)
}

/** Origin of a server, as its record shows it. */
export function originView(origin: TemplateOrigin): JsonObject {
  const { id, version, variant, installedAt, previous } = origin
  return {
    ...{ id, source: id.slice(0, id.indexOf(':')), version, variant: variant.id, installedAt },
    hash: contentHash(origin),
    ...(previous ? { previous: previous.version } : {}),
  }
}
