import type { HubError, JsonObject, JsonValue } from 'patchbay/contract'
import { callAddress, checkSegment } from './address.ts'
import { findFaults } from './arguments/argument-check.ts'
import { coerced } from './arguments/coerce.ts'
import { type Body, writeBody } from './bodies.ts'
import type { OpenapiConfig } from './config.ts'
import type { Parameter } from './parameters.ts'
import type { Proof } from './security.ts'
import { checkedHeader, encode, headerText, pairs, pathText } from './styles.ts'
import { isObject, misplaced, scalarText, wrongArguments } from './values.ts'

/** Most arguments without a place that a message names. */
const MOST_SHOWN = 20

/** All data for calling one tool; it holds no reference to the document. */
export interface CallPlan {
  readonly tool: string
  /** The input schema of the tool. */
  readonly schema: JsonObject
  /** Upper case. */
  readonly method: string
  readonly base: URL
  readonly path: PathPlan
  readonly parameters: readonly Parameter[]
  readonly body: Body | undefined
  readonly proofs: readonly Proof[]
  readonly accept: string
  /** Treatment of arguments that the tool does not have. */
  readonly extraArguments: OpenapiConfig['extraArguments']
}

/** The arguments of one call, placed in a request. */
export interface Placed {
  /** The whole address; `extra` are further pairs of its query, encoded. */
  readonly address: (extra: readonly string[]) => string
  /** Lower-case names. */
  readonly headers: Record<string, string>
  readonly cookies: string[]
  readonly content: string | Uint8Array | undefined
  /** Names of given arguments that the tool does not have; they are not sent. */
  readonly dropped: readonly string[]
}

/** Places the arguments. Throws `params_invalid` for one that violates the schema or has no place; nothing is sent. */
export function placeArguments(plan: CallPlan, given: JsonObject): Placed {
  const { values, dropped } = fitting(plan, given)
  const headers: Record<string, string> = { accept: plan.accept }
  const query: string[] = []
  const cookies: string[] = []
  const path = new Map<string, string>()
  for (const parameter of plan.parameters) {
    const { argument, name, required } = parameter
    const value = values.get(argument)
    if (value === undefined) {
      if (required) throw misplaced(argument, 'is missing')
      continue
    }
    const placed = parameter.asJson ? JSON.stringify(value) : value
    switch (parameter.in) {
      case 'path':
        for (const text of pathTexts(placed, argument)) checkSegment(text, argument)
        path.set(name, pathText(parameter, placed))
        // The style may write a "." in front of a value that begins with a slash.
        checkSegment(path.get(name) ?? '', argument)
        break
      case 'query':
        query.push(...pairs(parameter, placed).map(pair => pair.join('=')))
        break
      case 'header':
        headers[name.toLowerCase()] = headerText(parameter, placed)
        break
      case 'cookie':
        cookies.push(...pairs(parameter, placed).map(pair => pair.join('=')))
        break
    }
  }
  const content = bodyOf(plan, values.get('body'), headers)
  const { pieces, segments, fixedQuery } = plan.path
  const written = pieces.map(piece => {
    if (typeof piece === 'string') return piece
    const text = path.get(piece.name)
    if (text === undefined || text === '') throw misplaced(piece.name, 'is empty, and its place in the path cannot be')
    return text
  })
  return {
    address: extra => callAddress(plan.base, written.join(''), [...fixedQuery, ...query, ...extra].join('&'), segments),
    headers,
    cookies,
    content,
    dropped,
  }
}

/** The valid arguments, and the names of those without a place. Throws `params_invalid` with everything that is wrong. */
function fitting(
  plan: CallPlan,
  given: JsonObject,
): { readonly values: ReadonlyMap<string, JsonValue>; readonly dropped: readonly string[] } {
  const { schema, tool } = plan
  const { values, dropped } = named(plan, given)
  const own = Object.fromEntries(values)
  if (findFaults(schema, own).length === 0) return { values, dropped }
  const read = coerced(schema, own)
  // An argument without a place may be a misspelled one, which is then missing.
  const faults = findFaults(schema, read)
  if (faults.length === 0) {
    // A text "null" is null too, and a parameter that is null counts as absent.
    const present = Object.entries(read).filter(([name, value]) => value !== null || name === 'body')
    return { values: new Map(present), dropped }
  }
  const extra = dropped.slice(0, MOST_SHOWN).map(at => ({ at, why: 'is not known' }))
  throw wrongArguments(tool, [...faults, ...extra])
}

/** The arguments by the names in the tool's schema; a parameter's own name is accepted too, if it is unambiguous. */
function named(plan: CallPlan, given: JsonObject) {
  const { parameters, extraArguments } = plan
  const names = namesOf(plan)
  const values = new Map<string, JsonValue>()
  const dropped: string[] = []
  for (const [name, value] of Object.entries(given)) {
    const argument = names.get(name)
    if (argument === undefined) {
      // If two parameters have this name, the caller must say which one is meant.
      const isAmbiguous = parameters.some(parameter => parameter.name === name)
      if (extraArguments === 'refuse' || isAmbiguous) throw placeless(plan, name, names)
      dropped.push(name)
    } else if (value !== null || argument === 'body') {
      // A parameter that is null counts as absent.
      values.set(argument, value)
    }
  }
  return { values, dropped }
}

function namesOf({ parameters, body }: CallPlan): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const { name, argument } of parameters) {
    if (parameters.every(other => other.name !== name || other.argument === argument)) names.set(name, argument)
  }
  for (const { argument } of parameters) names.set(argument, argument)
  if (body) names.set('body', 'body')
  return names
}

function placeless({ tool }: CallPlan, name: string, names: ReadonlyMap<string, string>): HubError {
  const known = [...new Set(names.values())].join(', ')
  const takes = known === '' ? 'it takes none' : `it takes ${known.slice(0, 500)}`
  return misplaced(name, `has no place in the tool ${JSON.stringify(tool)}: ${takes}`)
}

function bodyOf({ body }: CallPlan, value: JsonValue | undefined, headers: Record<string, string>) {
  if (!body) return undefined
  if (value === undefined) {
    if (body.required) throw misplaced('body', 'is missing')
    return undefined
  }
  const { contentType, content } = writeBody(body, value)
  headers['content-type'] = contentType
  return content
}

/** Every single text that a value adds to a path. */
function pathTexts(value: JsonValue, argument: string): readonly string[] {
  if (value === null) return []
  if (Array.isArray(value)) return value.flatMap(item => pathTexts(item, argument))
  if (isObject(value)) return Object.entries(value).flatMap(([name, item]) => [name, ...pathTexts(item, argument)])
  return [scalarText(value, argument)]
}

/** A path of the document, parsed once: some have a query or a fragment in them. */
export interface PathPlan {
  /** Literal texts, encoded, and between them the names of parameters. */
  readonly pieces: readonly (string | { readonly name: string })[]
  readonly segments: number
  readonly fixedQuery: readonly string[]
}

/** Parses a path template; parameters are `{name}`. */
export function planPath(path: string): PathPlan {
  const [template = '', query] = (path.split('#')[0] ?? '').split('?', 2)
  const pieces = template.split(/(\{[^{}]+\})/).map(piece => {
    return piece.startsWith('{') && piece.endsWith('}') ? { name: piece.slice(1, -1) } : literal(piece)
  })
  return {
    pieces,
    segments: pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? piece.split('/').length - 1 : 0), 0),
    fixedQuery: query ? query.split('&').map(pair => pair.split('=').map(literal).join('=')) : [],
  }
}

/** Literal text of the document as URL text; existing percent-encoding stays. */
function literal(text: string): string {
  return encode(text)
    .replace(/%25(?=[0-9a-f]{2})/gi, '%')
    .replace(/%(?:2F|3A|40|21|24|27|28|29|2A|2C|3B|3D)/g, code => decodeURIComponent(code))
}

/** Adds the credentials to a request. Configured headers override them, so the caller adds those afterwards. */
export function addProofs(
  proofs: readonly Exclude<Proof, { kind: 'token' }>[],
  headers: Record<string, string>,
  cookies: string[],
): readonly string[] {
  const query: string[] = []
  for (const { kind, name, value } of proofs) {
    if (kind === 'header') headers[name] = checkedHeader(value, name)
    else (kind === 'cookie' ? cookies : query).push(`${encode(name)}=${encode(value)}`)
  }
  return query
}
