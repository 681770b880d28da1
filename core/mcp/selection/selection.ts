import { HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { namedValues } from '../../domain/groups/selected-schema.ts'
import { isPlainObject } from '../rpc/rpc.ts'
import type { Scope } from '../scope/scope.ts'
import type { Choice, Target } from '../scope/scope-types.ts'

/** Values in the data of one error, and in one answer of a completion. */
const MOST_VALUES = 100

/** A request for one item: its target, and its parameters without the argument that chose it. */
export interface Selection {
  readonly target: Target
  readonly params: JsonObject | undefined
  /** Present for an item that is one of several: its name and the choice that was made. */
  readonly of?: { readonly name: string; readonly choice: Choice }
}

/** The tool of a call as it was named, and the one that the arguments choose. */
export interface FoundTool extends Selection {
  readonly name: string
  readonly choice: Choice | undefined
}

/**
 * The item of the member that the arguments choose; most items are of one member alone. Throws `selector_missing`,
 * `selector_unknown`, and `server_offline` for a member whose items were never seen.
 */
export function selection(scope: Scope, name: string, target: Target, params: JsonObject | undefined): Selection {
  const { choice } = target
  if (!choice) return { target, params }
  const given = isPlainObject(params?.arguments) ? params.arguments : {}
  const value = chosenValue(given, choice)
  if (value === undefined) throw missing(scope, name, choice)
  const chosen = choice.targets.get(value)
  if (!chosen) throw unknown(scope, name, choice, value)
  const { [choice.argument]: _, ...rest } = given
  const own = Object.hasOwn(given, choice.argument) ? { ...params, arguments: rest } : params
  return { target: chosen, params: own, of: { name, choice } }
}

/** The same for what is only shown of a request: undefined where the arguments choose no member. */
export function chosenTarget(target: Target | undefined, params: JsonObject | undefined): Target | undefined {
  if (!target?.choice) return target
  const value = chosenValue(isPlainObject(params?.arguments) ? params.arguments : {}, target.choice)
  return value === undefined ? undefined : target.choice.targets.get(value)
}

/** A missing value and null are the default; a number stands for its digits. */
function chosenValue(given: JsonObject, { argument, default: preset }: Choice): string | undefined {
  const value = Object.hasOwn(given, argument) ? given[argument] : undefined
  if (value === undefined || value === null) return preset
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function missing(scope: Scope, name: string, { argument, targets }: Choice): HubError {
  const values = valuesToCall(scope, targets)
  return new HubError('selector_missing', `"${name.slice(0, 64)}" needs the argument "${argument}": ${oneOf(values)}`, {
    data: { argument, values: values.slice(0, MOST_VALUES) },
  })
}

function unknown(scope: Scope, name: string, { argument, targets }: Choice, value: string): HubError {
  const values = valuesToCall(scope, targets)
  const data = { argument, values: values.slice(0, MOST_VALUES) }
  const shown = JSON.stringify(value.slice(0, 64))
  const state = scope.catalog.states.find(({ member }) => member.selectedBy === value)
  if (state && !state.catalog) {
    const message = `The server of "${argument}" ${shown} was never seen online, so its tools are not known; ${online(values)}`
    return new HubError('server_offline', message, { data })
  }
  const why = state ? 'its server does not have it in the form that is listed' : 'there is no such value'
  const message = `"${name.slice(0, 64)}" cannot be used with "${argument}" ${shown}: ${why}; ${oneOf(values)}`
  return new HubError('selector_unknown', message, { data })
}

/** Values whose servers can be called now; all if there is none. */
function valuesToCall(scope: Scope, targets: Choice['targets']): readonly string[] {
  const found = [...targets].filter(([, { member, blocked }]) => !blocked && scope.isReachable(member.server.id))
  return (found.length > 0 ? found : [...targets]).map(([value]) => value)
}

function oneOf(values: readonly string[]): string {
  return `one of ${namedValues(values, MOST_VALUES)}`
}

function online(values: readonly string[]): string {
  return `online are ${namedValues(values, MOST_VALUES)}`
}

/** A failure of a chosen member that cannot be reached, with the values of the members that can. */
export function withOthers<T extends { readonly kind: string; readonly error?: unknown }>(
  scope: Scope,
  { target: { chosen, member }, of }: Selection,
  outcome: T,
): T {
  const isFailure = outcome.kind === 'failed' && outcome.error instanceof HubError
  if (!chosen || !of || !isFailure || scope.isReachable(member.server.id)) return outcome
  return { ...outcome, error: errorWithOthers(scope, chosen, of, outcome.error as HubError) }
}

/** A refusal of the chosen member's item, with the values of the members that can be called. */
export function refusalWithOthers(scope: Scope, { target: { chosen }, of }: Selection, refusal: HubError): HubError {
  return chosen && of ? errorWithOthers(scope, chosen, of, refusal) : refusal
}

function errorWithOthers(
  scope: Scope,
  { argument, value }: NonNullable<Target['chosen']>,
  { name, choice }: NonNullable<Selection['of']>,
  failure: HubError,
): HubError {
  const { code, message, hint, retryAfterSeconds, data, own } = failure
  const others = [...choice.targets].filter(([, one]) => !one.blocked && scope.isReachable(one.member.server.id))
  const values = others.map(([each]) => each)
  const rest = values.length === 0 ? 'none of the others is online' : `for "${name.slice(0, 64)}" ${online(values)}`
  return new HubError(code, `${message}; "${argument}" was ${JSON.stringify(value)}, and ${rest}`, {
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(own === undefined ? {} : { own }),
    data: { ...data, argument, values: values.slice(0, MOST_VALUES) },
  })
}

/** The answer to a completion of the argument that chooses; undefined for every other argument. */
export function completedValue(
  { choice }: Target,
  argument: JsonValue | undefined,
): { readonly kind: 'result'; readonly resultText: string } | undefined {
  if (!choice || !isPlainObject(argument) || argument.name !== choice.argument) return undefined
  const begun = typeof argument.value === 'string' ? argument.value.toLowerCase() : ''
  const values = [...choice.targets.keys()].filter(value => value.toLowerCase().startsWith(begun))
  const completion = {
    values: values.slice(0, MOST_VALUES),
    total: values.length,
    hasMore: values.length > MOST_VALUES,
  }
  return { kind: 'result', resultText: JSON.stringify({ completion }) }
}

/** The member that completes another argument of a prompt: the one that the caller has chosen before, or else the first that is there. */
export function completedBy(
  target: Target,
  context: JsonValue | undefined,
): { readonly target: Target; readonly context?: JsonObject } {
  const { choice } = target
  if (!choice || !isPlainObject(context) || !isPlainObject(context.arguments)) return { target }
  const { [choice.argument]: value, ...rest } = context.arguments
  const chosen = typeof value === 'string' ? choice.targets.get(value) : undefined
  return { target: chosen ?? target, context: { ...context, arguments: rest } }
}
