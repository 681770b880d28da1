import { contentHash, installedPart } from './plan.ts'
import { isUnpinned, unusable } from './template-check.ts'
import type { MarketTemplate, MarketVariant, TemplateOrigin } from './types.ts'
import { compareVersions } from './versions.ts'

/**
 * Relation of the listed version to the installed one. `changed`: the same version has another command or other inputs.
 * `unknown`: the source states no version, and only a dry run requests it.
 */
export type Availability = 'current' | 'newer' | 'older' | 'other' | 'changed' | 'unknown'

/** Compares an installed server with its template. */
export function availability(origin: TemplateOrigin, template: MarketTemplate): Availability {
  const variant = sameVariant(origin, template)
  if (variant && isUnpinned(variant)) return 'unknown'
  const order = compareVersions(origin.version, template.version)
  if (order !== 'same') return order
  return variant && contentHash(installedPart(template, variant)) === contentHash(origin) ? 'current' : 'changed'
}

/** The variant of a template that runs a server as it is run now: of the same id, else the first usable one of its kind. */
export function sameVariant(
  { variant }: Pick<TemplateOrigin, 'variant'>,
  { variants }: MarketTemplate,
): MarketVariant | undefined {
  const usable = variants.filter(one => unusable(one, true) === undefined)
  return usable.find(({ id }) => id === variant.id) ?? usable.find(({ kind }) => kind === variant.kind)
}
