import { visibleName } from '../../domain/text/visible-text.ts'
import { isToolOn, overrideOf, pinsWithVariables } from '../../domain/tools/tool-shape.ts'
import type { MemberState, ResolvedScope, Target } from './scope-types.ts'

/** The server of a path of one server, whose lists were never seen: any name may exist there. */
function unseen({ kind }: ResolvedScope, [state, ...others]: readonly MemberState[]): MemberState | undefined {
  return !state || state.catalog || others.length > 0 || kind !== 'server' ? undefined : state
}

/**
 * A tool of a single server that was never seen: the name may exist, so the call is sent, and the server, or the
 * reason why it cannot be reached, answers. What its owner renamed, disabled, pinned or has not approved yet still
 * applies.
 */
export function unseenTool(resolved: ResolvedScope, states: readonly MemberState[], name: string): Target | undefined {
  const state = unseen(resolved, states)
  if (!state) return undefined
  const { server } = state.member
  const { tools } = server
  const renamed = Object.entries(tools).find(([, override]) => override.name === name)
  const [original, override] = renamed ?? [name, overrideOf(tools, name)]
  const hidden = !isToolOn(server, override) || (!renamed && override?.name !== undefined && override.name !== name)
  if (hidden) return undefined
  const rules = override?.arguments
  const variablesIn = pinsWithVariables(rules, rules, true)
  return {
    member: state.member,
    original,
    ...(rules ? { rules } : {}),
    ...(variablesIn.length > 0 ? { variablesIn } : {}),
    ...(state.blocked?.has(original) ? { blocked: true } : {}),
  }
}

/** The same for a prompt, of those that its owner selected. */
export function unseenPrompt(
  resolved: ResolvedScope,
  states: readonly MemberState[],
  name: string,
): Target | undefined {
  const state = unseen(resolved, states)
  if (!state) return undefined
  const { member } = state
  const isChosen = member.prompts === 'all' || member.prompts.some(chosen => visibleName(chosen) === name)
  return isChosen ? { member, original: name } : undefined
}
