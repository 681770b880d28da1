import { hash } from 'node:crypto'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { comparable } from '../../domain/groups/agreement.ts'
import { type ChosenArgument, hasArgument, withPromptArgument } from '../../domain/groups/selected-schema.ts'
import { canonical } from '../../domain/json/canonical-json.ts'
import { type CatalogItem, itemJson } from '../../domain/tools/catalog-item.ts'
import { shapeSchema } from '../../domain/tools/tool-shape.ts'
import type { GroupSelector } from '../../features/groups.ts'
import type { Nameable } from './naming.ts'
import type { MemberState, Target } from './scope-types.ts'

/** An item of a member, before it has its exposed name. */
export interface Candidate extends Nameable {
  readonly state: MemberState
  readonly item: CatalogItem
  /** Members that replace the upstream's in the list. */
  readonly changes: JsonObject
  readonly target: Target
  /** The argument that chooses among several members' items, which this one stands for. */
  readonly argument?: ChosenArgument
  /** False for an item that is not listed. Absent: as its member is. */
  readonly listed?: boolean
  /** A member that is removed from the item's JSON, since it differs between the members. */
  readonly without?: string
}

/** A difference between the members that a selector chooses from. */
export interface SelectorFault {
  /** `differs`: other schemas; `taken`: a schema has the selector's argument itself; `partial`: some lack the item. */
  readonly fault: 'differs' | 'taken' | 'partial'
  readonly kind: 'tools' | 'prompts'
  /** Name of the item, as the members are asked to offer it. */
  readonly name: string
  /** The values without the item, whose calls are refused. */
  readonly values: readonly string[]
  /** With `differs`: the schema of the values that are offered, and of the first that is not. */
  readonly schemas?: readonly [offered: JsonValue, other: JsonValue]
  /** With `differs`: a value that is offered. */
  readonly as?: string
}

/** One candidate for the items of one name of the selected members, and what is wrong with the others. */
export interface Combined {
  readonly candidates: readonly Candidate[]
  readonly faults: readonly SelectorFault[]
}

const NOTHING: Combined = { candidates: [], faults: [] }

interface Variant {
  readonly value: string
  readonly candidate: Candidate
}

/** The parts of a tool that are listed as far as all members have them. */
interface SharedParts {
  readonly annotations: JsonObject | undefined
  /** A text that is equal for output schemas of the same form. */
  readonly output: string
}

/** Keeps the forms of items, which take a while to parse, as long as the lists of their servers. */
export class ItemForms {
  readonly #known = new WeakMap<CatalogItem, Map<string, string>>()
  readonly #parts = new WeakMap<CatalogItem, SharedParts>()

  partsOf(item: CatalogItem): SharedParts {
    const known = this.#parts.get(item)
    if (known) return known
    const { annotations, outputSchema } = itemJson(item)
    const parts = {
      annotations: isJsonObject(annotations) ? annotations : undefined,
      output: outputSchema === undefined ? '' : hash('sha256', canonical(comparable(outputSchema)), 'base64'),
    }
    this.#parts.set(item, parts)
    return parts
  }

  /** A text that is equal for items of the same form. */
  of(kind: 'tools' | 'prompts', candidate: Candidate): string {
    const { item, target } = candidate
    const known = this.#known.get(item) ?? new Map<string, string>()
    this.#known.set(item, known)
    const rules = JSON.stringify(target.rules ?? null)
    const form = known.get(rules) ?? hash('sha256', canonical(formOf(kind, candidate)), 'base64')
    if (known.size >= MOST_FORMS) known.clear()
    known.set(rules, form)
    return form
  }
}

/** Forms of one item that are kept: groups can shape it differently. */
const MOST_FORMS = 16

/**
 * Combines the items of selected members by the names that they are to have. The form that most listed members have is
 * offered, of equally many that of the first member; members with another form are left out. `states`: the selected members.
 */
export function combine(
  selector: GroupSelector,
  kind: 'tools' | 'prompts',
  states: readonly MemberState[],
  candidates: readonly Candidate[],
  itemForms: ItemForms,
): Combined {
  if (candidates.length === 0) return NOTHING
  const seen = states.filter(({ catalog }) => catalog).map(({ member }) => member.selectedBy ?? '')
  const found: Candidate[] = []
  const faults: SelectorFault[] = []
  const byName = Map.groupBy(candidates, ({ wanted }) => wanted)
  for (const [name, all] of byName) {
    const variants = all.map(candidate => ({ value: candidate.state.member.selectedBy ?? '', candidate }))
    const fault = (values: readonly string[], rest: Pick<SelectorFault, 'fault' | 'schemas' | 'as'>): void => {
      if (values.length > 0) faults.push({ kind, name, values, ...rest })
    }
    const forms = formsOf(kind, variants, itemForms)
    const { offered, others } = mostOffered(variants, forms)
    const first = offered[0]
    if (!first) continue
    if (offersOwn(kind, first.candidate, selector.argument)) {
      fault(valuesOf(variants), { fault: 'taken' })
      continue
    }
    const [other] = others
    if (other) {
      const schemas = [formOf(kind, first.candidate), formOf(kind, other.candidate)] as const
      fault(valuesOf(others), { fault: 'differs', schemas, as: first.value })
    }
    const having = new Set(valuesOf(variants))
    fault(
      seen.filter(value => !having.has(value)),
      { fault: 'partial' },
    )
    found.push(combinedOf(selector, kind, first.candidate, offered, itemForms))
  }
  return { candidates: found, faults }
}

const valuesOf = (variants: readonly Variant[]): readonly string[] => variants.map(({ value }) => value)

/** A text for each variant, equal for those of the same form. Mostly all have the same definition, which is parsed once. */
function formsOf(
  kind: 'tools' | 'prompts',
  variants: readonly Variant[],
  itemForms: ItemForms,
): ReadonlyMap<Variant, string> {
  const known = new Map<string, string>()
  return new Map(
    variants.map(variant => {
      const { item, target } = variant.candidate
      const key = JSON.stringify([item.fingerprint, target.rules ?? null])
      const form = known.get(key) ?? itemForms.of(kind, variant.candidate)
      known.set(key, form)
      return [variant, form] as const
    }),
  )
}

/** The part of an item in which equal ones agree. */
function formOf(kind: 'tools' | 'prompts', candidate: Candidate): JsonValue {
  if (kind === 'tools') return comparable(schemaOf(candidate))
  const { arguments: given } = itemJson(candidate.item)
  const names = (Array.isArray(given) ? given : []).filter(isJsonObject)
  return Object.fromEntries(
    names.map(({ name, required }) => [String(name), required === true ? 'required' : 'optional']),
  )
}

/** The input schema for callers. */
function schemaOf({ item, target: { rules } }: Candidate): JsonValue | undefined {
  const { inputSchema } = itemJson(item)
  return rules ? shapeSchema(inputSchema, rules) : inputSchema
}

function offersOwn(kind: 'tools' | 'prompts', candidate: Candidate, argument: string): boolean {
  if (kind === 'tools') return hasArgument(schemaOf(candidate), argument)
  const form = formOf(kind, candidate)
  return isJsonObject(form) && Object.hasOwn(form, argument)
}

function mostOffered(
  variants: readonly Variant[],
  forms: ReadonlyMap<Variant, string>,
): { readonly offered: readonly Variant[]; readonly others: readonly Variant[] } {
  const count = (of: readonly Variant[]) => of.filter(isListed).length * variants.length + of.length
  const groups = [...Map.groupBy(variants, variant => forms.get(variant)).values()]
  const offered = groups.reduce((best, group) => (count(group) > count(best) ? group : best), [])
  return { offered, others: variants.filter(variant => !offered.includes(variant)) }
}

function isListed({ candidate: { state, target } }: Variant): boolean {
  return state.listed && !target.blocked
}

function combinedOf(
  selector: GroupSelector,
  kind: 'tools' | 'prompts',
  first: Candidate,
  offered: readonly Variant[],
  itemForms: ItemForms,
): Candidate {
  const { argument: name, default: preset } = selector
  const listed = valuesOf(offered.filter(isListed))
  const targets = new Map(
    offered.map(
      ({ value, candidate: { target } }) => [value, { ...target, chosen: { argument: name, value } }] as const,
    ),
  )
  const usual = preset !== undefined && targets.has(preset) ? { default: preset } : {}
  const argument: ChosenArgument = {
    ...{ name, values: listed, description: selector.description ?? 'The server that runs it.' },
    ...(preset !== undefined && listed.includes(preset) ? { default: preset } : {}),
  }
  const listedFirst = offered.find(isListed)?.candidate ?? first
  const { blocked: _, ...target } = listedFirst.target
  return {
    ...listedFirst,
    // The name must not depend on which members are there.
    ...{ serverId: `selector ${name}`, alias: name, listed: listed.length > 0 },
    ...(kind === 'tools' ? { argument } : {}),
    ...commonParts(kind, listedFirst, offered, argument, itemForms),
    target: { ...target, choice: { argument: name, targets, ...usual } },
  }
}

/** Hints of tools that not all have are left out, which MCP reads as the worse case; so are output schemas that differ. */
function commonParts(
  kind: 'tools' | 'prompts',
  first: Candidate,
  offered: readonly Variant[],
  argument: ChosenArgument,
  itemForms: ItemForms,
): Pick<Candidate, 'changes' | 'without'> {
  const { changes, item } = first
  if (kind === 'prompts')
    return { changes: { ...changes, arguments: withPromptArgument(itemJson(item).arguments, argument) } }
  const isOther = ({ candidate }: Variant): boolean => candidate.item.fingerprint !== item.fingerprint
  const others = offered.filter(isOther).map(({ candidate }) => itemForms.partsOf(candidate.item))
  if (others.length === 0) return { changes }
  const { annotations, output } = itemForms.partsOf(item)
  const same = (one: JsonValue | undefined, other: JsonValue | undefined): boolean =>
    canonical(one ?? null) === canonical(other ?? null)
  const hints = Object.entries(annotations ?? {}).filter(([name, value]) =>
    others.every(other => same(other.annotations?.[name], value)),
  )
  const without = others.every(other => other.output === output) ? {} : { without: 'outputSchema' }
  const isKept = hints.length === Object.keys(annotations ?? {}).length
  return { changes: isKept ? changes : { ...changes, annotations: Object.fromEntries(hints) }, ...without }
}

/** Each item of a single member, with its exposed name: where a name stands for several members, each of them. */
export function* everyTarget(targets: ReadonlyMap<string, Target>): Iterable<readonly [string, Target]> {
  for (const [name, target] of targets) {
    if (target.choice) for (const one of target.choice.targets.values()) yield [name, one]
    else yield [name, target]
  }
}
